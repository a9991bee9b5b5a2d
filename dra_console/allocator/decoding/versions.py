"""Older versions of the API, lifted to the v1 shape before anything is read.

v1beta2 differs from v1 in the version alone. v1beta1 has the fields of `exactly` flat in
the request and those of a device under `basic`; v1alpha3 also has bare capacities. The
console never writes an older version, since fields would be lost.
"""

from typing import Final

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject

GROUP: Final = "resource.k8s.io"
FLAT_VERSIONS: Final = frozenset({f"{GROUP}/v1alpha3", f"{GROUP}/v1beta1"})
FLAT_REQUEST_FIELDS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)


def is_flat(obj: JsonObject) -> bool:
    """Tell whether the object is of a version with flat requests and `basic` devices."""
    return obj.get("apiVersion") in FLAT_VERSIONS


def claim_spec_as_v1(spec: Json, *, path: str) -> Json:
    """Move the flat fields of each request into `exactly`.

    Raises:
        DecodeError: a request has both the flat fields and `exactly`.

    """
    devices = spec.get("devices") if isinstance(spec, dict) else None
    requests = devices.get("requests") if isinstance(devices, dict) else None
    if not (isinstance(spec, dict) and isinstance(devices, dict) and isinstance(requests, list)):
        return spec
    lifted = [
        _request_as_v1(request, path=f"{path}.devices.requests[{index}]")
        for index, request in enumerate(requests)
    ]
    return spec | {"devices": devices | {"requests": lifted}}


def _request_as_v1(request: Json, *, path: str) -> Json:
    if not isinstance(request, dict):
        return request
    flat: JsonObject = {name: request[name] for name in FLAT_REQUEST_FIELDS if name in request}
    if not flat:
        return request
    if "exactly" in request:
        raise DecodeError(f"{path}.exactly", "expected either flat fields or exactly, got both")
    rest = {name: value for name, value in request.items() if name not in flat}
    return rest | {"exactly": flat}


def device_as_v1(device: JsonObject) -> JsonObject:
    """Hoist `basic` and wrap bare capacities."""
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return device
    lifted = {name: value for name, value in device.items() if name != "basic"} | basic
    capacity = lifted.get("capacity")
    if isinstance(capacity, dict):
        lifted["capacity"] = {
            name: value if isinstance(value, dict) else {"value": value}
            for name, value in capacity.items()
        }
    return lifted
