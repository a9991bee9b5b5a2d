"""What an API server takes out of the status of a claim by itself."""

from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.fields import inside

DEVICE_FIELDS: Final = ("driver", "pool", "device", "shareID")


def drop_freed_devices(claim: JsonObject, *, old: JsonObject) -> None:
    """Take out of `status.devices` what `old` held and the claim holds no longer.

    What drivers said of a device goes with it, so that clients who do not know of that can give
    devices back.
    """
    status = claim.get("status")
    if not isinstance(status, dict) or "devices" not in status:
        return
    freed = _allocated(inside(old, "status")) - _allocated(inside(claim, "status"))
    kept = [
        device.raw
        for device in inside(claim, "status").children("devices")
        if _key(device) not in freed
    ]
    status["devices"] = [*kept]
    if not kept:
        del status["devices"]


def _allocated(status: Fields) -> frozenset[tuple[str, ...]]:
    allocation = status.child("allocation")
    devices = allocation.child("devices") if allocation else None
    return frozenset(map(_key, devices.children("results")) if devices else ())


def _key(device: Fields) -> tuple[str, ...]:
    return tuple(device.text(field) for field in DEVICE_FIELDS)
