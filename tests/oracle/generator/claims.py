"""Classes, and claims that ask for devices."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, objects_of
from tests.oracle.generator.amounts import capacity_request
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.constraints import constraints, with_derived
from tests.oracle.generator.devices import EFFECTS, TAINT_KEYS
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood
from tests.oracle.generator.selectors import selector

NAMESPACE: Final = "team"

CLASS_SELECTORS: Final[Mapping[str, tuple[str, ...]]] = {
    "any": (),
    "a": ('device.driver == "a.io"',),
    "b": ('device.driver == "b.io"',),
    "large": (
        'device.capacity["a.io"].?mem.orValue(quantity("0")).isGreaterThan(quantity("1Gi"))',
    ),
    "shared": ("device.allowMultipleAllocations",),
    "alone": ("!device.allowMultipleAllocations",),
    "a-fast": (
        'device.driver == "a.io"',
        'device.attributes["a.io"].?fast.orValue(false)',
    ),
}
DRIVER_OF: Final[Mapping[str, str]] = {"a": "a.io", "b": "b.io", "a-fast": "a.io"}
"""The classes whose devices are all of one driver."""

EVERY_CLASS: Final = tuple(CLASS_SELECTORS)
USUAL: Final = ("any", "any", "a", "a", "b")


def classes(chance: Chance, mood: Mood) -> list[JsonObject]:
    """Draw all classes; one is missing now and then."""
    drawn = []
    for name, expressions in CLASS_SELECTORS.items():
        if mood.has(Ingredient.ERRING) and chance.maybe(0.1):
            continue
        spec: JsonObject = {"selectors": [{"cel": {"expression": each}} for each in expressions]}
        if mood.has(Ingredient.CONFIG) and chance.maybe(0.6):
            spec["config"] = [_opaque(chance) for _ in range(chance.pick((1, 1, 2)))]
        drawn.append(_object("DeviceClass", {"name": name}, spec))
    return drawn


def claims(chance: Chance, mood: Mood) -> list[JsonObject]:
    """Draw the claims of one pod."""
    count = chance.pick((1, 1, 1, 1, 1, 2, 2, 2, 3, 5))
    return [claim(chance, mood, f"c{number}") for number in range(count)]


def claim(chance: Chance, mood: Mood, name: str) -> JsonObject:
    """Draw one claim without allocation."""
    count = 0 if chance.maybe(0.02) else chance.pick((1, 1, 1, 1, 2, 2, 3))
    requests: list[Json] = [_request(chance, mood, f"r{number}") for number in range(count)]
    devices: JsonObject = {"requests": requests}
    if mood.has(Ingredient.CONSTRAINTS) and chance.maybe(0.8):
        devices["constraints"] = constraints(chance, mood, objects_of(requests))
    if mood.has(Ingredient.DERIVED) and chance.maybe(0.8):
        devices = with_derived(chance, mood, devices)
    if mood.has(Ingredient.CONFIG):
        devices["config"] = _configs(chance, objects_of(requests))
    return _object("ResourceClaim", {"name": name, "namespace": NAMESPACE}, {"devices": devices})


def request_names(requests: Sequence[JsonObject]) -> list[str]:
    """List what constraints and configs may refer to."""
    names = []
    for request in requests:
        names.append(str(request["name"]))
        names += [
            f"{request['name']}/{sub['name']}" for sub in objects_of(request.get("firstAvailable"))
        ]
    return names


def _object(kind: str, metadata: JsonObject, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def _request(chance: Chance, mood: Mood, name: str) -> JsonObject:
    if mood.has(Ingredient.ALTERNATIVES) and chance.maybe(0.6):
        subrequests: list[Json] = [
            _ask(chance, mood) | {"name": f"s{number}"}
            for number in range(chance.pick((1, 2, 2, 2, 3, 3, 3, 3, 8)))
        ]
        return {"name": name, "firstAvailable": subrequests}
    exactly = _ask(chance, mood)
    if mood.has(Ingredient.ADMIN) and chance.maybe(0.5):
        exactly["adminAccess"] = chance.maybe(0.8)
    return {"name": name, "exactly": exactly}


def _ask(chance: Chance, mood: Mood) -> JsonObject:
    usual = (*USUAL, "shared", "shared", "alone") if mood.has(Ingredient.SHARES) else USUAL
    class_name = chance.pick(EVERY_CLASS if chance.maybe(0.15) else usual)
    if mood.has(Ingredient.ERRING) and chance.maybe(0.05):
        class_name = "absent"
    ask = _mode(chance, mood) | {"deviceClassName": class_name}
    if mood.has(Ingredient.SELECTORS) and chance.maybe(0.6):
        driver = DRIVER_OF.get(class_name)
        expressions = [selector(chance, mood, driver) for _ in range(chance.pick((1, 1, 2)))]
        ask["selectors"] = [{"cel": {"expression": each}} for each in expressions]
    if (mood.has(Ingredient.TAINTS) or mood.has(Ingredient.RULES)) and chance.maybe(0.6):
        ask["tolerations"] = [_toleration(chance) for _ in range(chance.pick((1, 1, 2)))]
    if mood.has(Ingredient.SHARES) and chance.maybe(0.6):
        ask["capacity"] = capacity_request(chance, chance.some(("mem", "cores"), most=1))
    return ask


def _mode(chance: Chance, mood: Mood) -> JsonObject:
    if mood.has(Ingredient.ALL) and chance.maybe(0.35):
        return {"allocationMode": "All"}
    counts = (
        (5, 8, 16, 20, 31, 32, 33, 500)
        if mood.has(Ingredient.WIDE)
        else (1, 1, 1, 1, 1, 1, 2, 2, 3)
    )
    count = chance.pick(counts)
    written: JsonObject = {} if count == 1 and chance.maybe(0.4) else {"count": count}
    return written | ({"allocationMode": "ExactCount"} if chance.maybe(0.5) else {})


def _toleration(chance: Chance) -> JsonObject:
    drawn: JsonObject = {}
    if chance.maybe(0.85):
        drawn["key"] = chance.pick(TAINT_KEYS)
    if "key" not in drawn or chance.maybe(0.6):
        drawn["operator"] = "Exists"
    else:
        drawn |= {"operator": "Equal"} if chance.maybe(0.5) else {}
        drawn |= {"value": chance.pick(("very", "somewhat"))} if chance.maybe(0.8) else {}
    if chance.maybe(0.4):
        drawn["effect"] = chance.pick(EFFECTS)
    if drawn.get("effect") == "NoExecute" and chance.maybe(0.3):
        drawn["tolerationSeconds"] = 60
    return drawn


def _opaque(chance: Chance) -> JsonObject:
    parameters: JsonObject = {"mode": chance.pick(("fast", "safe")), "depth": chance.between(1, 3)}
    return {"opaque": {"driver": chance.pick(DRIVERS), "parameters": parameters}}


def _configs(chance: Chance, requests: Sequence[JsonObject]) -> list[Json]:
    configs: list[Json] = []
    for _ in range(chance.pick((0, 1, 1, 2))):
        config = _opaque(chance)
        covered: list[Json] = [*chance.some(request_names(requests), most=3)]
        if covered:
            config["requests"] = covered
        configs.append(config)
    return configs
