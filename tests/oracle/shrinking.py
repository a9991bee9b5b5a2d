"""Make a scenario that shows a difference as small as it can be.

Hypothesis shrinks what it has drawn itself; a scenario that is known as JSON is shrunk here:
whatever can be left out without losing the difference is left out, large parts first
(delta debugging). The rest stays valid for the API server, as far as it was.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.validation.validate import (
    validate_claim,
    validate_class,
    validate_slice,
    validate_taint_rule,
)

Path: TypeAlias = tuple[str | int, ...]

KEPT: Final = frozenset(
    {
        *("apiVersion", "kind", "metadata", "name", "namespace", "spec", "status", "objects", "id"),
        *("driver", "pool", "generation", "resourceSliceCount", "request", "deviceClassName"),
        *("value", "default", "counters", "counterSet"),
    }
)
"""Fields that nothing can do without."""

VALIDATORS: Final = {
    "ResourceSlice": validate_slice,
    "DeviceClass": validate_class,
    "ResourceClaim": validate_claim,
    "DeviceTaintRule": validate_taint_rule,
}


def shrunk(scenario: JsonObject, still_differs: Callable[[JsonObject], bool]) -> JsonObject:
    """Leave out parts as long as the rest is valid and differs."""
    while True:
        smaller = _pass_over(scenario, still_differs)
        if smaller == scenario:
            return scenario
        scenario = smaller


def problems(scenario: JsonObject) -> list[str]:
    """List what the API server would refuse.

    Where gates are named the objects may be older than the gates are off.
    """
    rules = Rules(features=frozenset(Feature)) if "features" in scenario else DEFAULT_RULES
    return [
        f"{each['kind']} {each['metadata']}: {error}"
        for each in objects_of(scenario["objects"])
        if (validate := VALIDATORS.get(str(each["kind"]))) is not None
        for error in validate(each, rules=rules)
    ]


def _pass_over(scenario: JsonObject, still_differs: Callable[[JsonObject], bool]) -> JsonObject:
    allowed = set(problems(scenario))

    def shows_it(candidate: JsonObject) -> bool:
        return allowed.issuperset(problems(candidate)) and still_differs(candidate)

    for candidate in _with_smaller_pools(scenario):
        if shows_it(candidate):
            return candidate
    paths = list(_removable(scenario, ()))
    size = max(1, len(paths) // 2)
    while paths:
        start = 0
        while start < len(paths):
            chosen = paths[start : start + size]
            candidate = _without(scenario, chosen)
            if shows_it(candidate):
                # The paths that are left point into another object now.
                return candidate
            start += size
        if size == 1:
            break
        size //= 2
    return scenario


def _with_smaller_pools(scenario: JsonObject) -> Iterator[JsonObject]:
    """Leave out a slice, and count one slice less in what is left of its pool."""
    for number, gone in enumerate(objects_of(scenario["objects"])):
        if gone["kind"] != "ResourceSlice":
            continue
        smaller = _without(scenario, [("objects", number)])
        for each in objects_of(smaller["objects"]):
            if each["kind"] == "ResourceSlice" and _pool(each) == _pool(gone):
                _pool(each)["resourceSliceCount"] = max(
                    1, int(str(_pool(gone)["resourceSliceCount"])) - 1
                )
        yield smaller


def _pool(resource_slice: JsonObject) -> JsonObject:
    return object_of(object_of(resource_slice["spec"])["pool"])


def _removable(value: Json, path: Path) -> Iterator[Path]:
    """List the parts, each before the parts within it."""
    entries: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        entries = [*value.items()]
    elif isinstance(value, list):
        entries = [*enumerate(value)]
    for key, inside in entries:
        if key not in KEPT:
            yield (*path, key)
        yield from _removable(inside, (*path, key))


def _without(scenario: JsonObject, paths: list[Path]) -> JsonObject:
    smaller: JsonObject = json.loads(json.dumps(scenario))
    # From the back, so that an index still means what it meant.
    for path in reversed(paths):
        _remove(smaller, path)
    return smaller


def _remove(value: Json, path: Path) -> None:
    *outer, last = path
    for key in outer:
        if isinstance(value, dict):
            value = value.get(str(key))
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
    if isinstance(value, dict):
        value.pop(str(last), None)
    elif isinstance(value, list) and isinstance(last, int) and last < len(value):
        del value[last]
