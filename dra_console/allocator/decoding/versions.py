"""Older versions of the API, lifted to the v1 shape before anything is read.

v1beta2 differs from v1 in the version alone. v1beta1 has the fields of `exactly` flat in
the request and those of a device under `basic`; v1alpha3 also has bare capacities. `older`
goes the other way, for servers that have no v1.

An object that names a version has to have that version's shape: a server would not take it
otherwise, and to guess what was meant would change what is asked for.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.errors import DecodeError

GROUP: Final = "resource.k8s.io"
FLAT_VERSIONS: Final = frozenset({f"{GROUP}/v1alpha3", f"{GROUP}/v1beta1"})
NESTED_VERSIONS: Final = frozenset({f"{GROUP}/v1", f"{GROUP}/v1beta2"})
READABLE_VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
CLASSIC_VERSIONS: Final = frozenset({"v1alpha1", "v1alpha2"})
"""Dynamic resource allocation before claims had structured parameters; gone since 1.31."""

SERVED_VERSIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"DeviceTaintRule": ("v1", "v1beta2", "v1alpha3")}
)
"""In which versions release 1.37 serves a kind, the newest first, where that is not `SERVED`."""

SERVED: Final = ("v1", "v1beta2", "v1beta1")

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
SINCE_V1BETA2: Final = "since v1beta2 the fields of a request stand under exactly"
BEFORE_V1BETA2: Final = "before v1beta2 the fields of a request stand in the request itself"
BASIC_SINCE_V1BETA2: Final = "since v1beta2 the fields of a device stand in the device itself"
BASIC_BEFORE_V1BETA2: Final = "before v1beta2 the fields of a device stand under basic"


def served_versions(kind: str) -> tuple[str, ...]:
    """List group and version of each API in which a kind is served, the newest first."""
    return tuple(f"{GROUP}/{version}" for version in SERVED_VERSIONS.get(kind, SERVED))


def is_flat(obj: JsonObject) -> bool:
    """Tell whether the object is of a version with flat requests and `basic` devices."""
    return version_of(obj) in FLAT_VERSIONS


def version_of(obj: JsonObject) -> str:
    """Return group and version of an object, the empty text if it names none."""
    version = obj.get("apiVersion")
    return version if isinstance(version, str) else ""


def check_version(obj: JsonObject) -> None:
    """Refuse a version of the group that this release cannot read.

    An object without a version is taken for v1, one of another group is left to its reader.

    Raises:
        DecodeError: the version is a classic one, or newer than this release.

    """
    version = version_of(obj)
    group, slash, name = version.partition("/")
    if group != GROUP or not slash or name in READABLE_VERSIONS:
        return
    if name in CLASSIC_VERSIONS:
        detail = "was dropped in Kubernetes 1.31, its claims cannot be read"
    else:
        detail = "is not known to this release"
    raise DecodeError("apiVersion", f"{version} {detail}; use {GROUP}/v1")


def claim_spec_as_v1(spec: Json, *, path: str, api_version: str = "") -> Json:
    """Move the flat fields of each request into `exactly`.

    Raises:
        DecodeError: a request has both the flat fields and `exactly`, or the shape of another
            version than `api_version`, if that is known.

    """
    devices = spec.get("devices") if isinstance(spec, dict) else None
    requests = devices.get("requests") if isinstance(devices, dict) else None
    if not (isinstance(spec, dict) and isinstance(devices, dict) and isinstance(requests, list)):
        return spec
    lifted = [
        _request_as_v1(request, path=f"{path}.devices.requests[{index}]", api_version=api_version)
        for index, request in enumerate(requests)
    ]
    return spec | {"devices": devices | {"requests": lifted}}


def _request_as_v1(request: Json, *, path: str, api_version: str) -> Json:
    if not isinstance(request, dict):
        return request
    flat: JsonObject = {name: request[name] for name in FLAT_REQUEST_FIELDS if name in request}
    has_exactly = request.get("exactly") is not None
    if has_exactly and api_version in FLAT_VERSIONS:
        raise DecodeError(f"{path}.exactly", f"unknown field in {api_version}: {BEFORE_V1BETA2}")
    if not flat:
        return request
    if api_version in NESTED_VERSIONS:
        first = next(iter(flat))
        raise DecodeError(f"{path}.{first}", f"unknown field in {api_version}: {SINCE_V1BETA2}")
    if has_exactly:
        raise DecodeError(f"{path}.exactly", "expected either flat fields or exactly, got both")
    rest = {name: value for name, value in request.items() if name not in flat}
    return rest | {"exactly": flat} if any(map(_is_set, flat.values())) else rest


def _is_set(value: Json) -> bool:
    """Tell whether a flat field makes its request one for exact devices; `false` does."""
    return isinstance(value, bool) or value not in (None, "", 0)


def device_as_v1(device: JsonObject, *, path: str = "", api_version: str = "") -> JsonObject:
    """Hoist `basic` and wrap bare capacities.

    Raises:
        DecodeError: the device has the shape of another version than `api_version`, if that is
            known.

    """
    basic = device.get("basic")
    if api_version in FLAT_VERSIONS:
        for name, value in device.items():
            if name not in {"name", "basic"} and value is not None:
                detail = f"unknown field in {api_version}: {BASIC_BEFORE_V1BETA2}"
                raise DecodeError(f"{path}.{name}", detail)
    if not isinstance(basic, dict):
        return device
    if api_version in NESTED_VERSIONS:
        detail = f"unknown field in {api_version}: {BASIC_SINCE_V1BETA2}"
        raise DecodeError(f"{path}.basic", detail)
    lifted = {name: value for name, value in device.items() if name != "basic"} | basic
    capacity = lifted.get("capacity")
    if isinstance(capacity, dict):
        lifted["capacity"] = {
            name: value if isinstance(value, dict) else {"value": value}
            for name, value in capacity.items()
        }
    return lifted


def slice_spec_as_v1(spec: Json, *, path: str, api_version: str = "") -> Json:
    """Lift the devices of a slice, and the ways in which older versions say "not set".

    Raises:
        DecodeError: a device has the shape of another version than `api_version`.

    """
    if not isinstance(spec, dict):
        return spec
    devices = spec.get("devices")
    lifted = dict(spec)
    if isinstance(devices, list):
        lifted["devices"] = [
            device_as_v1(device, path=f"{path}.devices[{index}]", api_version=api_version)
            if isinstance(device, dict)
            else device
            for index, device in enumerate(devices)
        ]
    if api_version in FLAT_VERSIONS:
        for field, unset in (("nodeName", ""), ("allNodes", False)):
            if lifted.get(field) == unset:
                lifted.pop(field, None)
    return lifted


def as_v1(obj: JsonObject) -> JsonObject:
    """Lift a whole object of a kind that differs between versions; others are as they were.

    Raises:
        DecodeError: the object has not the shape of the version that it names.

    """
    check_version(obj)
    version, spec = version_of(obj), obj.get("spec")
    match obj.get("kind"):
        case "ResourceClaim":
            lifted = claim_spec_as_v1(spec, path="spec", api_version=version)
        case "ResourceClaimTemplate" if isinstance(spec, dict):
            inside = claim_spec_as_v1(spec.get("spec"), path="spec.spec", api_version=version)
            lifted = spec | {"spec": inside}
        case "ResourceSlice":
            lifted = slice_spec_as_v1(spec, path="spec", api_version=version)
        case _:
            return obj
    if version.startswith(f"{GROUP}/"):
        return obj | {"apiVersion": f"{GROUP}/v1", "spec": lifted}
    return obj | {"spec": lifted}
