"""Pools of devices, as one or several slices, in order or in the middle of a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, objects_of
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.devices import Home, device
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood
from tests.oracle.generator.nodes import slice_reach

POOL_NAMES: Final = ("p0", "p1", "rack/p2")
COUNTERS: Final = ("memory", "slots")
FEW: Final = (0, 1, 2, 3, 3, 4, 5, 6)
MANY: Final = (5, 12, 20, 40)
"""Devices of a slice."""

CHANGES: Final = (
    "incomplete",
    "surplus",
    "replaced",
    "being replaced",
    "being replaced",
    "twice",
    "counters",
)
OPERATIONS: Final = (["*"], ["NodeUnprepareResources"], ["NodePrepareResources", "*"])


@dataclass(frozen=True, slots=True)
class Plan:
    """What all slices of one pool have in common."""

    driver: str
    pool: str
    generation: int
    nodes: Sequence[str]
    reach: JsonObject | None
    """How every slice reaches its nodes; None if each slice draws its own."""


def pools(chance: Chance, mood: Mood, node_names: Sequence[str]) -> list[JsonObject]:
    """Draw the slices of one to four pools; their objects' names order them at random."""
    identities = [(driver, name) for driver in DRIVERS for name in POOL_NAMES]
    wanted = chance.pick((1, 2, 2, 3, 3, 4))
    slices: list[JsonObject] = []
    for driver, name in chance.shuffled(identities)[:wanted]:
        plan = Plan(
            driver, name, chance.between(0, 2), node_names, _reach(chance, mood, node_names)
        )
        published = pool(chance, mood, plan)
        if mood.has(Ingredient.UNCLEAN) and chance.maybe(0.6):
            published = changed(chance, mood, plan, published)
        slices += published
    return slices


def pool(chance: Chance, mood: Mood, plan: Plan) -> list[JsonObject]:
    """Draw all slices of one generation."""
    counter_sets = _counter_sets(chance) if mood.has(Ingredient.PARTITIONS) else []
    device_slices = chance.pick((1, 1, 1, 2, 3))
    specs: list[JsonObject] = []
    if counter_sets:
        cut = len(counter_sets) if chance.maybe(0.7) else chance.between(1, len(counter_sets))
        for part in (counter_sets[:cut], counter_sets[cut:]):
            if part:
                sets: list[Json] = [*part]
                specs.append(_slice_reach(chance, plan) | {"sharedCounters": sets})
    names = iter(chance.shuffled([f"dev-{number}" for number in range(160)]))
    for _ in range(device_slices):
        spec = _slice_reach(chance, plan)
        is_per_device = "perDeviceNodeSelection" in spec
        home = Home(plan.driver, counter_sets, plan.nodes if is_per_device else ())
        devices: list[Json] = [
            device(chance, mood, home, next(names))
            for _ in range(chance.pick(MANY if mood.has(Ingredient.WIDE) else FEW))
        ]
        if mood.has(Ingredient.SKIPS) and chance.maybe(0.4):
            operations: list[Json] = [*chance.pick(OPERATIONS)]
            spec["skipNodeOperations"] = operations
        specs.append(spec | {"devices": devices})
    return [
        _slice(chance, plan, spec, number=number, count=len(specs))
        for number, spec in enumerate(specs)
    ]


def _reach(chance: Chance, mood: Mood, node_names: Sequence[str]) -> JsonObject | None:
    if mood.has(Ingredient.PER_DEVICE) and chance.maybe(0.5):
        return {"perDeviceNodeSelection": True}
    if chance.maybe(0.15):
        return None
    if chance.maybe(0.03):
        return {"nodeName": "elsewhere"}
    return {"nodeName": chance.pick(node_names)} if chance.maybe(0.5) else {"allNodes": True}


def _slice_reach(chance: Chance, plan: Plan) -> JsonObject:
    return slice_reach(chance, plan.nodes) if plan.reach is None else {**plan.reach}


def _slice(chance: Chance, plan: Plan, spec: JsonObject, *, number: int, count: int) -> JsonObject:
    owner = f"{plan.driver}-{plan.pool.replace('/', '-')}-{plan.generation}"
    name = f"{chance.pick('abcdef')}-{owner}-{number}"
    identity: JsonObject = {
        "name": plan.pool,
        "generation": plan.generation,
        "resourceSliceCount": count,
    }
    whole: JsonObject = {"driver": plan.driver, "pool": identity, **spec}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": whole,
    }


def _counter_sets(chance: Chance) -> list[JsonObject]:
    return [
        {
            "name": f"set-{number}",
            "counters": {
                name: {"value": str(chance.pick((2, 4, 6, 8)))}
                for name in chance.some(COUNTERS, least=1)
            },
        }
        for number in range(chance.pick((1, 1, 1, 2, 3)))
    ]


def changed(
    chance: Chance, mood: Mood, plan: Plan, published: list[JsonObject]
) -> list[JsonObject]:
    """Leave a pool as a driver does in the middle of an update, or with a mistake."""
    match chance.pick(CHANGES):
        case "incomplete":
            return published[1:]
        case "surplus":
            count = len(published)
            spec: JsonObject = {"allNodes": True, "devices": []}
            return [*published, _slice(chance, plan, spec, number=count, count=count)]
        case "replaced":
            return published + _other_generation(chance, mood, plan, plan.generation + 1)
        case "being replaced":
            newer = _other_generation(chance, mood, plan, plan.generation + 3)
            return published + (newer[:1] if chance.maybe(0.6) else newer)
        case "twice":
            return _with_device_twice(chance, published)
        case _:
            return _with_wrong_counters(chance, published)


def _other_generation(chance: Chance, mood: Mood, plan: Plan, generation: int) -> list[JsonObject]:
    reach = plan.reach if chance.maybe(0.4) else _reach(chance, mood, plan.nodes)
    return pool(chance, mood, Plan(plan.driver, plan.pool, generation, plan.nodes, reach))


def _specs(slices: Sequence[JsonObject]) -> list[JsonObject]:
    return [spec for each in slices if isinstance(spec := each["spec"], dict)]


def _with_device_twice(chance: Chance, published: list[JsonObject]) -> list[JsonObject]:
    holders = [spec for spec in _specs(published) if objects_of(spec.get("devices"))]
    if len(holders) > 1:
        first, second = chance.some(holders, least=2, most=2)
        objects_of(second["devices"])[0]["name"] = objects_of(first["devices"])[0]["name"]
    return published


def _with_wrong_counters(chance: Chance, published: list[JsonObject]) -> list[JsonObject]:
    for spec in _specs(published):
        for each in objects_of(spec.get("devices")):
            for consumed in objects_of(each.get("consumesCounters")):
                if chance.maybe(0.5):
                    consumed["counterSet"] = "unknown"
                else:
                    consumed["counters"] = {"unknown": {"value": "1"}}
                return published
    return published
