"""A slow, independent allocator: tries every choice of devices in first-fit order.

It reads the API objects itself and knows the three selectors of the strategies by what
they mean. For at most a handful of devices; shares nothing with the search it checks.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import DRIVER
from tests.builders.strategies import SELECTORS
from tests.unit.allocator.golden_cases import inside

SIZES = {"20Gi": 20, "40Gi": 40, "80Gi": 80}


def first_fit(
    world: Sequence[JsonObject], claim: JsonObject, *, node: str
) -> list[tuple[str, str]] | None:
    """Return request and device of every pick, or `None` if no choice is valid."""
    slices = [
        each["spec"]
        for each in world
        if each["kind"] == "ResourceSlice" and inside(each, "spec", "nodeName") == node
    ]
    if any(inside(each, "pool", "resourceSliceCount") != len(slices) for each in slices):
        devices: list[JsonObject] = []
        board = Fraction(0)
    else:
        devices = [device for each in slices for device in _list(inside(each, "devices"))]
        board = _amount(slices, "sharedCounters", "counters", "memory", "value")
    held = _held(world, node)
    left = board - sum(_draw(each) for each in devices if each["name"] in held)
    requests = _list(inside(claim, "spec", "devices", "requests"))
    constraints = _list(inside(claim, "spec", "devices", "constraints"))
    options = [
        list(
            combinations([each for each in devices if _suits(each, request, held)], _count(request))
        )
        for request in requests
    ]
    for choice in product(*options):
        picked = [device for group in choice for device in group]
        if _is_valid(picked, left=left, constraints=constraints):
            return [
                (str(request["name"]), str(device["name"]))
                for request, group in zip(requests, choice, strict=True)
                for device in group
            ]
    return None


def _is_valid(
    picked: Sequence[JsonObject], *, left: Fraction, constraints: Sequence[JsonObject]
) -> bool:
    names = [str(each["name"]) for each in picked]
    drawn = sum((_draw(each) for each in picked), Fraction(0))
    if len(set(names)) < len(names) or (drawn and (drawn > left or left < 0)):
        return False
    roots = [inside(each, "attributes", "root", "int") for each in picked]
    for constraint in constraints:
        if None in roots:
            return False
        wanted = 1 if "matchAttribute" in constraint else len(roots)
        if len(set(roots)) != wanted and roots:
            return False
    return True


def _suits(device: JsonObject, request: JsonObject, held: frozenset[str]) -> bool:
    if device["name"] in held or device.get("taints"):
        return False
    meanings = {
        SELECTORS[0]: inside(device, "attributes", "model", "string") == "big",
        SELECTORS[1]: inside(device, "attributes", "root", "int") == 1,
        SELECTORS[2]: SIZES[str(inside(device, "capacity", "memory", "value"))] > 40,
    }
    selectors = _list(inside(request, "exactly", "selectors"))
    return all(meanings[str(inside(each, "cel", "expression"))] for each in selectors)


def _held(world: Sequence[JsonObject], node: str) -> frozenset[str]:
    results = (
        result
        for each in world
        for result in _list(inside(each, "status", "allocation", "devices", "results"))
    )
    return frozenset(
        str(each["device"]) for each in results if (each["driver"], each["pool"]) == (DRIVER, node)
    )


def _draw(device: JsonObject) -> Fraction:
    return _amount([device], "consumesCounters", "counters", "memory", "value")


def _amount(objects: Sequence[Json], key: str, *path: str) -> Fraction:
    found = (inside(each, *path) for obj in objects for each in _list(inside(obj, key)))
    return sum((Fraction(SIZES[str(each)]) for each in found), Fraction(0))


def _count(request: JsonObject) -> int:
    count = inside(request, "exactly", "count")
    return count if isinstance(count, int) else 1


def _list(value: Json) -> list[JsonObject]:
    return list(_objects(value))


def _objects(value: Json) -> Iterator[JsonObject]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each
