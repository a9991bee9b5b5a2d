"""Which fields the API has, so that a misplaced one is named instead of dropped.

Only specs are described: metadata and status are the server's business. A shape is an
object with its fields, a list of a shape, or `None` for anything.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.api_json import Json
from dra_console.allocator.validation.field_errors import FieldErrors

Shape: TypeAlias = "Mapping[str, Shape] | list[Shape] | None"

SELECTORS: Final[Shape] = [{"cel": {"expression": None}}]
OPAQUE_CONFIG: Final[Mapping[str, Shape]] = MappingProxyType(
    {"opaque": {"driver": None, "parameters": None}}
)
NODE_SELECTOR: Final[Shape] = None
SUBREQUEST: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "deviceClassName": None,
        "selectors": SELECTORS,
        "allocationMode": None,
        "count": None,
        "tolerations": [
            {
                "key": None,
                "operator": None,
                "value": None,
                "effect": None,
                "tolerationSeconds": None,
            }
        ],
        "capacity": {"requests": None},
        "derivedAttributes": [{"name": None, "expression": None}],
    }
)
EXACTLY: Final[Mapping[str, Shape]] = MappingProxyType({**SUBREQUEST, "adminAccess": None})
FIRST_AVAILABLE: Final[Shape] = [{**SUBREQUEST, "name": None}]
REQUEST: Final[Mapping[str, Shape]] = MappingProxyType(
    {"name": None, "exactly": EXACTLY, "firstAvailable": FIRST_AVAILABLE}
)
FLAT_REQUEST: Final[Mapping[str, Shape]] = MappingProxyType(
    {"name": None, **EXACTLY, "firstAvailable": FIRST_AVAILABLE}
)
DEVICE: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "attributes": None,
        "capacity": None,
        "consumesCounters": [{"counterSet": None, "counters": None}],
        "nodeName": None,
        "nodeSelector": NODE_SELECTOR,
        "allNodes": None,
        "taints": [{"key": None, "value": None, "effect": None, "timeAdded": None}],
        "bindsToNode": None,
        "bindingConditions": None,
        "bindingFailureConditions": None,
        "allowMultipleAllocations": None,
        "nodeAllocatableResources": None,
    }
)
CLASS: Final[Shape] = {
    "spec": {"selectors": SELECTORS, "config": [OPAQUE_CONFIG], "extendedResourceName": None}
}


def claim_spec_shape(*, is_flat: bool) -> Shape:
    """Describe a claim's spec; `is_flat` for versions before v1beta2."""
    return {
        "devices": {
            "requests": [FLAT_REQUEST if is_flat else REQUEST],
            "constraints": [{"requests": None, "matchAttribute": None, "distinctAttribute": None}],
            "config": [{"requests": None, **OPAQUE_CONFIG}],
        }
    }


def slice_shape(*, is_flat: bool) -> Shape:
    """Describe a ResourceSlice; `is_flat` for versions before v1beta2."""
    device = {"name": None, "basic": DEVICE} if is_flat else {"name": None, **DEVICE}
    return {
        "spec": {
            "driver": None,
            "pool": {"name": None, "generation": None, "resourceSliceCount": None},
            "nodeName": None,
            "nodeSelector": NODE_SELECTOR,
            "allNodes": None,
            "perDeviceNodeSelection": None,
            "devices": [device],
            "sharedCounters": [{"name": None, "counters": None}],
            "partitionTypeAttribute": None,
            "skipNodeOperations": None,
        }
    }


HINTS: Final = (
    (
        re.compile(r"spec\.devices\.requests\[\d+\]\.(?!exactly|firstAvailable)\w+$"),
        "since v1beta2 the fields of a request stand under exactly, or in firstAvailable",
    ),
    (
        re.compile(r"spec\.devices\.requests\[\d+\]\.exactly$"),
        "before v1beta2 the fields of a request stand in the request itself",
    ),
    (
        re.compile(r"spec\.tolerations$"),
        "tolerations belong in spec.devices.requests[i].exactly.tolerations",
    ),
    (
        re.compile(r"spec\.resourceClassName$"),
        "the class is named in spec.devices.requests[i].exactly.deviceClassName",
    ),
    (
        re.compile(r"firstAvailable\[\d+\]\.adminAccess$"),
        "admin access is for requests with exactly alone",
    ),
    (re.compile(r"devices\[\d+\]\.basic$"), "since v1beta2 its fields stand in the device itself"),
)


def report_unknown(value: Json, shape: Shape, errors: FieldErrors, *, path: str = "") -> None:
    """Report every field that the shape does not have; a wrong kind is not looked into."""
    if isinstance(shape, list) and isinstance(value, list):
        for index, entry in enumerate(value):
            report_unknown(entry, shape[0], errors, path=f"{path}[{index}]")
    elif isinstance(shape, Mapping) and isinstance(value, dict):
        for name, entry in value.items():
            inside = f"{path}.{name}" if path else name
            if name in shape:
                report_unknown(entry, shape[name], errors, path=inside)
            else:
                hints = (hint for pattern, hint in HINTS if pattern.search(inside))
                errors.unknown(inside, next(hints, ""))
