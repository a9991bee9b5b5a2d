"""What can keep a claim from getting its CDI file."""


class CdiError(Exception):
    """A device cannot be handed to a container now."""


class MissingNodeError(CdiError):
    """A device node that the container needs does not exist on the host; it may appear later."""


class MissingDriverError(CdiError):
    """The driver's files are not all where they should be; they may appear later."""


class InvalidSpecError(CdiError):
    """The file would be refused by a container runtime; it was not written."""
