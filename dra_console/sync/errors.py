"""What can keep the mirror from being written."""


class SyncError(Exception):
    """Base of what this package raises on purpose."""


class NoIdentityError(SyncError):
    """An object has no name, UID or resource version, and cannot be mirrored."""


class NotOurTurnError(SyncError):
    """This window may write no more: somebody else follows the kind, or nobody should."""
