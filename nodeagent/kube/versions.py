"""The served versions of resource.k8s.io, and their ResourceSlices as v1 ones.

Inside the agent everything has v1's shape. Which version goes over the wire is found by
discovery, never from a version number (node-agent.md 4.1). v1beta2 has v1's fields; v1beta1 keeps
a device's body under `basic`. What the agent reads of claims is the same in all three.
"""

from collections.abc import Callable, Collection
from typing import Final

from nodeagent.fields import Json, JsonObject

GROUP: Final = "resource.k8s.io"
SPOKEN: Final = ("v1", "v1beta2", "v1beta1")
"""Most preferred first. v1alpha3 (Kubernetes 1.31) is not among them."""

NESTED: Final = "v1beta1"


def preferred(served: Collection[str]) -> str | None:
    """Return the newest version that both sides speak, if there is one."""
    return next((version for version in SPOKEN if version in served), None)


def slice_to_v1(slice_object: JsonObject, *, version: str) -> JsonObject:
    """Turn a ResourceSlice as served in `version` into v1's shape."""
    return _convert(slice_object, api_version="v1", body=_hoist if version == NESTED else None)


def slice_from_v1(slice_object: JsonObject, *, version: str) -> JsonObject:
    """Turn a ResourceSlice of v1's shape into what `version` takes."""
    return _convert(slice_object, api_version=version, body=_nest if version == NESTED else None)


def _convert(
    slice_object: JsonObject,
    *,
    api_version: str,
    body: Callable[[JsonObject], JsonObject] | None,
) -> JsonObject:
    converted: JsonObject = {**slice_object, "apiVersion": f"{GROUP}/{api_version}"}
    spec = slice_object.get("spec")
    if body is None or not isinstance(spec, dict):
        return converted
    devices = spec.get("devices")
    if isinstance(devices, list):
        changed: list[Json] = [
            body(device) if isinstance(device, dict) else device for device in devices
        ]
        converted["spec"] = {**spec, "devices": changed}
    return converted


def _hoist(device: JsonObject) -> JsonObject:
    basic = device.get("basic")
    rest = {name: value for name, value in device.items() if name != "basic"}
    return {**rest, **basic} if isinstance(basic, dict) else rest


def _nest(device: JsonObject) -> JsonObject:
    basic = {name: value for name, value in device.items() if name != "name"}
    return {"name": device["name"], "basic": basic} if basic else {"name": device["name"]}
