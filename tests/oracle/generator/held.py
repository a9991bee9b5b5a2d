"""Claims of other pods, which hold devices already."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from dra_console.allocator.api_json import Json, JsonObject, objects_of
from tests.oracle.generator.amounts import quantity
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import Ingredient, Mood

ONE_EIGHTH_GIB_MILLI = (1 << 27) * 1000


@dataclass(frozen=True, slots=True)
class Published:
    """A device and where it is."""

    driver: str
    pool: str
    device: JsonObject


def held_claims(chance: Chance, mood: Mood, slices: Sequence[JsonObject]) -> list[JsonObject]:
    """Let other claims hold some of the published devices, and now and then a vanished one."""
    if not mood.has(Ingredient.HELD):
        return []
    share = chance.pick((0.1, 0.25, 0.5))
    results: list[JsonObject] = []
    for published in _published(slices):
        if chance.maybe(share):
            results += _results(chance, mood, published)
    if chance.maybe(0.1):
        results.append(_result(Published("a.io", "p0", {"name": "vanished"})))
    cut = chance.between(0, len(results))
    parts = [part for part in (results[:cut], results[cut:]) if part]
    return [_claim(f"held-{number}", part) for number, part in enumerate(parts)]


def _published(slices: Sequence[JsonObject]) -> Iterator[Published]:
    for each in slices:
        spec = each["spec"]
        assert isinstance(spec, dict)
        pool = spec["pool"]
        assert isinstance(pool, dict)
        for device in objects_of(spec.get("devices")):
            yield Published(str(spec["driver"]), str(pool["name"]), device)


def _results(chance: Chance, mood: Mood, published: Published) -> list[JsonObject]:
    is_shareable = bool(published.device.get("allowMultipleAllocations"))
    if mood.has(Ingredient.ADMIN) and chance.maybe(0.3):
        return [_result(published) | {"adminAccess": True}]
    if is_shareable and not chance.maybe(0.1):
        return [_share(chance, published) for _ in range(chance.pick((1, 1, 2)))]
    if mood.has(Ingredient.SHARES) and chance.maybe(0.05):
        return [_share(chance, published)]
    return [_result(published)]


def _result(published: Published) -> JsonObject:
    return {
        "request": "r",
        "driver": published.driver,
        "pool": published.pool,
        "device": published.device["name"],
    }


def _share(chance: Chance, published: Published) -> JsonObject:
    consumed: JsonObject = {}
    capacities = published.device.get("capacity")
    for name in capacities if isinstance(capacities, dict) else ():
        if chance.maybe(0.05):
            continue
        unit = ONE_EIGHTH_GIB_MILLI if name.endswith("mem") else 125
        consumed[name] = quantity(chance, unit * chance.pick((0, 2, 4, 8, 8, 16)))
    share = _result(published) | {"shareID": str(UUID(int=chance.getrandbits(128), version=4))}
    return share | ({"consumedCapacity": consumed} if consumed else {})


def _claim(name: str, results: list[JsonObject]) -> JsonObject:
    written: list[Json] = [*results]
    exactly: JsonObject = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": written}}},
    }
