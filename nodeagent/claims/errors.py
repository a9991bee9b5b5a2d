"""What can keep the agent from knowing or changing what is prepared on its node."""


class ClaimsError(Exception):
    """The node's record of prepared claims cannot be used now."""


class LockTimeoutError(ClaimsError):
    """Another prepare or unprepare held the node's lock for too long; asking again can help."""


class CorruptCheckpointError(ClaimsError):
    """The file is not what an agent wrote: broken JSON, wrong checksum, missing members."""


class NewerCheckpointError(ClaimsError):
    """A newer agent wrote the file; this one may read it, but must not change it."""


class MpsError(ClaimsError):
    """The MPS control daemon did not start, did not answer or refused."""


class DeviceLostError(ClaimsError):
    """The hardware of a prepared device is not there any more: its pod must be deleted."""
