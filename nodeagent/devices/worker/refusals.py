"""Errors that come out of the pipe as the class and text of what the worker raised."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from nodeagent.devices.errors import (
    BusyError,
    DevicesError,
    DriverChangedError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)

ERRORS: Final[Mapping[str, type[DevicesError]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            BusyError,
            DriverChangedError,
            DriverTimeoutError,
            NoDriverError,
            PlacementTakenError,
            UnsupportedError,
        )
    }
)


def refusal(kind: str, message: str) -> DevicesError:
    """Make the error that a caller gets; one of an unknown kind names it."""
    known = ERRORS.get(kind)
    return known(message) if known else DevicesError(f"{kind}: {message}")
