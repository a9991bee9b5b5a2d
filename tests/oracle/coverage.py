"""Which features of the API a scenario and its answer have met.

A comparison of thousands of scenarios shows nothing about a feature that none of them
reaches, so each run counts them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of

Test = Callable[[JsonObject], bool]


def _having(name: str) -> Test:
    return lambda fields: fields.get(name) not in (None, False, [], {})


IN_SCENARIO: Final[Mapping[str, tuple[str, Test]]] = {
    "mode All": ("ask", lambda ask: ask.get("allocationMode") == "All"),
    "count above 1": ("ask", lambda ask: int(str(ask.get("count", 1))) > 1),
    "firstAvailable": ("request", _having("firstAvailable")),
    "admin access": ("ask", _having("adminAccess")),
    "selectors": ("ask", _having("selectors")),
    "tolerations": ("ask", _having("tolerations")),
    "capacity requests": ("ask", _having("capacity")),
    "derived attributes": ("ask", _having("derivedAttributes")),
    "matchAttribute": ("constraint", _having("matchAttribute")),
    "distinctAttribute": ("constraint", _having("distinctAttribute")),
    "claim configs": ("claim", _having("config")),
    "class configs": ("class", _having("config")),
    "taints": ("device", _having("taints")),
    "consumed counters": ("device", _having("consumesCounters")),
    "shareable devices": ("device", _having("allowMultipleAllocations")),
    "binding conditions": ("device", _having("bindingConditions")),
    "devices bound to node": ("device", _having("bindsToNode")),
    "list attributes": ("device", lambda device: "strings" in str(device.get("attributes"))),
    "request policies": ("device", lambda device: "requestPolicy" in str(device.get("capacity"))),
    "compatibility groups": ("device", lambda device: "compatibilityGroups" in str(device)),
    "per-device node selection": ("slice", _having("perDeviceNodeSelection")),
    "node selectors": ("slice", _having("nodeSelector")),
    "slices of one node": ("slice", _having("nodeName")),
    "skipped operations": ("slice", _having("skipNodeOperations")),
    "taint rules": ("rule", _having("taint")),
    "devices in use": ("held", lambda held: not held.get("adminAccess")),
    "shares in use": ("held", _having("shareID")),
    "admin access in use": ("held", _having("adminAccess")),
}
"""Features by the part of the objects that shows them."""

IN_RESULT: Final[Mapping[str, Test]] = {
    "allocated: admin": _having("adminAccess"),
    "allocated: share": _having("shareID"),
    "allocated: consumed capacity": _having("consumedCapacity"),
    "allocated: binding conditions": _having("bindingConditions"),
    "allocated: alternative": lambda result: "/" in str(result["request"]),
    "allocated: second alternative": lambda result: "/s1" in str(result["request"]),
    "allocated: tolerations": _having("tolerations"),
    "allocated: skipped operations": _having("skipNodeOperations"),
}
OF_POOLS: Final = (
    "several pools",
    "pools of several slices",
    "several generations",
    "incomplete pools",
    "surplus slices",
)
FEATURES: Final = (
    *IN_SCENARIO,
    "several claims",
    *OF_POOLS,
    *IN_RESULT,
    "allocated: config",
)


def features_met(scenario: JsonObject, answer: JsonObject) -> set[str]:
    """List what occurs in a scenario and in what was allocated."""
    parts = list(_parts(scenario))
    met = {
        feature
        for feature, (kind, test) in IN_SCENARIO.items()
        if any(kind == part and test(fields) for part, fields in parts)
    }
    allocations = objects_of([*object_of(answer.get("allocations")).values()])
    for devices in (object_of(each.get("devices")) for each in allocations):
        results = objects_of(devices.get("results"))
        met |= {feature for feature, test in IN_RESULT.items() if any(map(test, results))}
        met |= {"allocated: config"} if devices.get("config") else set()
    met |= _pools_met([fields for kind, fields in parts if kind == "slice"])
    if sum(kind == "claim" for kind, _ in parts) > 1:
        met.add("several claims")
    return met


def _pools_met(slices: Sequence[JsonObject]) -> set[str]:
    counts: Counter[tuple[str, str, int]] = Counter()
    announced: dict[tuple[str, str, int], int] = {}
    for spec in slices:
        pool = object_of(spec["pool"])
        key = (str(spec["driver"]), str(pool["name"]), int(str(pool["generation"])))
        counts[key] += 1
        announced[key] = int(str(pool["resourceSliceCount"]))
    identities = {key[:2] for key in counts}
    return {
        name
        for name, is_met in (
            ("several pools", len(identities) > 1),
            ("pools of several slices", max(announced.values(), default=0) > 1),
            ("several generations", len(identities) < len(counts)),
            ("incomplete pools", any(counts[key] < count for key, count in announced.items())),
            ("surplus slices", any(counts[key] > count for key, count in announced.items())),
        )
        if is_met
    }


def _parts(scenario: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for each in objects_of(scenario["objects"]):
        spec = object_of(each.get("spec"))
        match each["kind"]:
            case "ResourceSlice":
                yield "slice", spec
                yield from (("device", device) for device in objects_of(spec.get("devices")))
            case "DeviceClass":
                yield "class", spec
            case "DeviceTaintRule":
                yield "rule", spec
            case "ResourceClaim" if "status" in each:
                yield from (("held", result) for result in _results(each))
            case "ResourceClaim":
                yield from _claim_parts(object_of(spec["devices"]))


def _claim_parts(devices: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield "claim", devices
    yield from (("constraint", each) for each in objects_of(devices.get("constraints")))
    for request in objects_of(devices["requests"]):
        yield "request", request
        yield "ask", object_of(request.get("exactly"))
        yield from (("ask", each) for each in objects_of(request.get("firstAvailable")))


def _results(claim: JsonObject) -> list[JsonObject]:
    allocation = object_of(object_of(claim["status"]).get("allocation"))
    results: Json = object_of(allocation.get("devices")).get("results")
    return objects_of(results)
