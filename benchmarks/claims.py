"""Pending claims to measure with, as the API objects that users apply."""

from collections.abc import Sequence
from typing import Final

from benchmarks.fleets import DRIVER, WHOLE_GPUS, an_object, attribute
from dra_console.allocator.model import Json, JsonObject

NOTHING_MATCHES: Final = f"{attribute('productName')}.startsWith('NVIDIA GB300')"
RAREST_BOARD: Final = (
    f"{attribute('productName')}.contains('H200') && "
    f"device.capacity['{DRIVER}'].memory.compareTo(quantity('100Gi')) >= 0"
)


def a_request(
    name: str = "gpu",
    *,
    count: int = 1,
    selectors: Sequence[str] = (),
    device_class: str = WHOLE_GPUS,
    capacity: JsonObject | None = None,
) -> JsonObject:
    """Build a request for a number of devices of one class."""
    exactly: JsonObject = {
        "deviceClassName": device_class,
        "allocationMode": "ExactCount",
        "count": count,
    }
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    if capacity is not None:
        exactly["capacity"] = {"requests": capacity}
    return {"name": name, "exactly": exactly}


def a_claim(
    *requests: JsonObject, match_attribute: str | None = None, name: str = "asks"
) -> JsonObject:
    """Build a claim; `match_attribute` constrains all its requests."""
    devices: dict[str, Json] = {"requests": [*requests]}
    if match_attribute is not None:
        devices["constraints"] = [{"matchAttribute": match_attribute}]
    return an_object("ResourceClaim", name, {"devices": devices})
