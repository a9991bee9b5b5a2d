"""Objects of v1 in the shape of an older version, for a server that has no newer one.

The writing half of `versions`. What an older version cannot say is refused: an object goes
out only if reading it back gives the object again, so nothing is lost in silence. A server
that knows a version may still be older than a field of it; it is asked to refuse what it
does not know (`fieldValidation=Strict`).
"""

from collections.abc import Callable

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.decoding.versions import FLAT_VERSIONS, as_v1, check_version
from dra_console.allocator.errors import DecodeError


def as_version(obj: JsonObject, *, api_version: str) -> JsonObject:
    """Spell an object of a known `kind` in a version of resource.k8s.io.

    The object may be of any version that this release reads. One without a version is taken
    for v1.

    Raises:
        DecodeError: the object has not the shape of its own version, or says what
            `api_version` cannot; `path` is that of v1.

    """
    if obj.get("apiVersion") == api_version:
        return obj
    check_version(obj)
    lifted = as_v1(obj)
    lowered = lifted | {"apiVersion": api_version}
    if api_version not in FLAT_VERSIONS:
        return lowered
    lowered |= _flat_parts(lifted)
    back = as_v1(lowered)
    for name in sorted(lifted.keys() | back.keys()):
        if name != "apiVersion" and lifted.get(name) != back.get(name):
            path, value = _first_difference(lifted.get(name), back.get(name), path=name)
            raise DecodeError(path, f"{value} cannot be written in {api_version}")
    return lowered


def _flat_parts(obj: JsonObject) -> JsonObject:
    """Return the members of an object of v1 that look otherwise before v1beta2."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return {}
    match obj.get("kind"):
        case "ResourceClaim":
            return {"spec": _flat_claim_spec(spec)}
        case "ResourceClaimTemplate":
            inside = spec.get("spec")
            return {"spec": {**spec, "spec": _flat_claim_spec(inside)}} if inside else {}
        case "ResourceSlice":
            return {"spec": _each_in(spec, "devices", _device_in_basic)}
        case _:
            return {}


def _flat_claim_spec(spec: Json) -> Json:
    devices = spec.get("devices") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(devices, dict):
        return spec
    return {**spec, "devices": _each_in(devices, "requests", _flat_request)}


def _each_in(parent: JsonObject, name: str, change: Callable[[JsonObject], Json]) -> JsonObject:
    entries = parent.get(name)
    if not isinstance(entries, list):
        return parent
    return {**parent, name: [change(each) if isinstance(each, dict) else each for each in entries]}


def _flat_request(request: JsonObject) -> Json:
    exactly = request.get("exactly")
    if not isinstance(exactly, dict):
        return request
    return {name: value for name, value in request.items() if name != "exactly"} | exactly


def _device_in_basic(device: JsonObject) -> Json:
    basic: JsonObject = {name: value for name, value in device.items() if name != "name"}
    return {name: device[name] for name in ("name",) if name in device} | {"basic": basic}


def _first_difference(wanted: Json, got: Json, *, path: str) -> tuple[str, str]:
    """Return the path of the first value that came back otherwise, and the value in words."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        # What was moved stands at its new place too; the place where it is missed counts.
        for name in (*wanted, *(name for name in got if name not in wanted)):
            if name not in wanted or name not in got or wanted[name] != got[name]:
                return _first_difference(wanted.get(name), got.get(name), path=f"{path}.{name}")
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for index, (ours, theirs) in enumerate(zip(wanted, got, strict=True)):
            if ours != theirs:
                return _first_difference(ours, theirs, path=f"{path}[{index}]")
    return path, "this" if isinstance(wanted, dict | list) else repr(wanted)
