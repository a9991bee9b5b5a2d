"""What can go wrong when the agent speaks to the GPU driver."""


class DevicesError(Exception):
    """The driver could not be asked, or refused."""


class NoDriverError(DevicesError):
    """There is no usable driver now; asking again later can help."""


class DriverChangedError(DevicesError):
    """The driver was replaced under this process; only a new process loads the new library."""


class DriverTimeoutError(DevicesError):
    """The driver did not answer in time. What was asked for may still happen."""


class BusyError(DevicesError):
    """Somebody uses what shall be changed; trying again later can help."""


class PlacementTakenError(DevicesError):
    """Another partition lies there, or what is left of the GPU does not do for this one."""


class UnsupportedError(DevicesError):
    """This GPU, driver or right does not offer it; trying again is of no use."""
