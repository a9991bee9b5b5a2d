"""Whole scenarios: a cluster, and one pod's claims in it, from a seed.

A scenario is what `dra-explain batch` and the Go oracle read. A seed and a number give the
same one for ever, so that a difference is reported by two numbers.
"""

from collections.abc import Callable, Mapping
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.claims import NAMESPACE, claims, classes
from tests.oracle.generator.devices import taint
from tests.oracle.generator.hard import hard_claims, hard_slices
from tests.oracle.generator.held import held_claims
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood, alpha_mood, default_mood
from tests.oracle.generator.nodes import node
from tests.oracle.generator.pools import POOL_NAMES, pools

SERIES: Final[Mapping[str, Callable[[Chance], Mood]]] = {
    "default": default_mood,
    "alpha": alpha_mood,
}
"""Gates as they are by default, and alpha ones on and default ones off."""


def scenario(series: str, seed: int, number: int) -> JsonObject:
    """Make the scenario of a series that the seed has at this number."""
    chance = Chance(f"{series} {seed} {number}")
    mood = SERIES[series](chance)
    return {"id": f"{series}-{seed}-{number}"} | _drawn(chance, mood)


def scenario_named(name: str) -> JsonObject:
    """Make the scenario that has this `id`."""
    series, seed, number = name.split("-")
    return scenario(series, int(seed), int(number))


def _drawn(chance: Chance, mood: Mood) -> JsonObject:
    node_names = [f"n{number}" for number in range(chance.pick((1, 2, 2, 3)))]
    nodes = [node(chance, mood, name) for name in node_names]
    is_hard = mood.has(Ingredient.HARD)
    slices = hard_slices(chance) if is_hard else pools(chance, mood, node_names)
    waiting = hard_claims(chance) if is_hard else claims(chance, mood)
    others = slices + classes(chance, mood) + held_claims(chance, mood, slices) + waiting
    if mood.has(Ingredient.RULES):
        others += [_rule(chance, f"rule-{number}") for number in range(chance.between(1, 2))]
    objects: list[Json] = [*chance.shuffled(nodes), *chance.shuffled(others)]
    drawn: JsonObject = {"objects": objects}
    if mood.gates is not None:
        gates: list[Json] = [*mood.gates]
        drawn["features"] = gates
    if chance.maybe(0.3):
        keys: list[Json] = [f"{NAMESPACE}/c{number}" for number in range(len(waiting))]
        drawn["claims"] = chance.some(chance.shuffled(keys), least=1)
    if chance.maybe(0.1):
        drawn["node"] = chance.pick(node_names)
    return drawn


def _rule(chance: Chance, name: str) -> JsonObject:
    spec: JsonObject = {"taint": taint(chance)}
    if not chance.maybe(0.1):
        selector: JsonObject = {
            "driver": chance.pick(DRIVERS),
            "pool": chance.pick(POOL_NAMES),
            "device": f"dev-{chance.between(0, 23)}",
        }
        spec["deviceSelector"] = {key: selector[key] for key in chance.some(tuple(selector))}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": spec,
    }
