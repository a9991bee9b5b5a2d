"""What can go wrong when the agent speaks to the GPU driver."""


class DevicesError(Exception):
    """The driver could not be asked."""


class NoDriverError(DevicesError):
    """There is no usable driver now; asking again later can help."""


class DriverChangedError(DevicesError):
    """The driver was replaced under this process; only a restart loads the new library."""
