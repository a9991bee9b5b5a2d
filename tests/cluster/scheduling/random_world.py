"""A cluster with devices of every sort, and pods that want some: all from one number.

Devices, claims and classes are drawn by the generator that compares the allocator with the
Go oracle. Here they share one cluster, so that pods meet what earlier ones have left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.claims import NAMESPACE, claim, classes
from tests.oracle.generator.devices import taint
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood
from tests.oracle.generator.pools import Plan, changed, pool

NODES: Final = 12
UNTIDY: Final = 2
"""Nodes with pools in the middle of a change: mode All is refused in their company."""

NETWORK_POOLS: Final = 6
ZONES: Final = ("z0", "z1")
PAUSE: Final = "registry.k8s.io/pause:3.10"

IN_POOLS: Final = {
    Ingredient.PARTITIONS: 0.45,
    Ingredient.SHARES: 0.45,
    Ingredient.TAINTS: 0.3,
    Ingredient.MISSING: 0.2,
}
"""How often a pool of devices is of a sort."""

IN_PODS: Final = {
    Ingredient.ADMIN: 0.08,
    Ingredient.ALL: 0.2,
    Ingredient.ALTERNATIVES: 0.4,
    Ingredient.CONFIG: 0.2,
    Ingredient.CONSTRAINTS: 0.4,
    Ingredient.ERRING: 0.08,
    Ingredient.RULES: 0.5,
    Ingredient.SELECTORS: 0.5,
    Ingredient.SHARES: 0.4,
    Ingredient.WIDE: 0.03,
}
"""How often a pod asks for something; the tolerations come with the rules."""


@dataclass(frozen=True, slots=True)
class World:
    """What is there before the first pod. Nodes are labels by name."""

    nodes: dict[str, dict[str, str]]
    slices: Sequence[JsonObject]
    classes: Sequence[JsonObject]
    rules: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create, and the templates that it names."""

    body: JsonObject
    templates: Sequence[JsonObject]

    @property
    def name(self) -> str:
        return str(object_of(self.body["metadata"])["name"])


def world(seed: int) -> World:
    """Draw the nodes and their devices."""
    chance = Chance(f"world {seed}")
    names = [f"n{number:02}" for number in range(NODES)]
    nodes = {
        name: {
            "site": "s",
            "rank": str(chance.between(0, 3)),
            "zone": chance.pick(ZONES),
            "tidy": "no" if number < UNTIDY else "yes",
        }
        for number, name in enumerate(names)
    }
    slices: list[JsonObject] = []
    for name in names:
        for driver in DRIVERS:
            plan = Plan(driver, name, chance.between(1, 3), names, {"nodeName": name})
            mood = _mood(chance, IN_POOLS)
            published = pool(chance, mood, plan)
            if nodes[name]["tidy"] == "no":
                published = changed(chance, mood, plan, published)
            slices += published
    for number in range(NETWORK_POOLS):
        reaches: tuple[JsonObject | None, ...] = (
            None,
            {"perDeviceNodeSelection": True},
            {"allNodes": True},
        )
        reach = chance.pick(reaches)
        plan = Plan(chance.pick(DRIVERS), f"net/{number}", 1, names[UNTIDY:], reach)
        slices += pool(chance, _mood(chance, IN_POOLS), plan)
    rules = [_rule(chance, f"rule-{number}", names) for number in range(4)]
    return World(nodes, slices, classes(chance, _mood(chance, {Ingredient.CONFIG: 1.0})), rules)


def pods(seed: int, count: int, *, scheduler: str) -> Iterator[NewPod]:
    """Draw pods with one to three claims from templates."""
    for number in range(count):
        yield _pod(Chance(f"pod {seed} {number}"), f"p{number:03}", scheduler)


def _pod(chance: Chance, name: str, scheduler: str) -> NewPod:
    mood = _mood(chance, IN_PODS)
    # Devices without an attribute are everywhere: only what asks for an error may err.
    if not mood.has(Ingredient.ERRING):
        mood = replace(mood, ingredients=mood.ingredients | {Ingredient.MISSING})
    count = chance.pick((1, 1, 1, 1, 2, 2, 3))
    templates = []
    references: list[Json] = []
    uses: list[Json] = []
    for number in range(count):
        drawn = claim(chance, mood, f"{name}-t{number}")
        spec: JsonObject = {"spec": drawn["spec"]}
        templates.append({**drawn, "kind": "ResourceClaimTemplate", "spec": spec})
        references.append({"name": f"c{number}", "resourceClaimTemplateName": f"{name}-t{number}"})
        uses.append({"name": f"c{number}"})
    spec = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": PAUSE, "resources": {"claims": uses}}],
        "resourceClaims": references,
    }
    if selector := _node_selector(chance, mood):
        spec["nodeSelector"] = selector
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
    return NewPod(body, templates)


def _node_selector(chance: Chance, mood: Mood) -> JsonObject:
    selector: JsonObject = {}
    if mood.has(Ingredient.ALL) and chance.maybe(0.9):
        selector["tidy"] = "yes"
    if chance.maybe(0.3):
        selector["zone"] = chance.pick(ZONES)
    return selector


def _mood(chance: Chance, probabilities: dict[Ingredient, float]) -> Mood:
    return Mood(frozenset(each for each, share in probabilities.items() if chance.maybe(share)))


def _rule(chance: Chance, name: str, pool_names: Sequence[str]) -> JsonObject:
    selector: JsonObject = {"driver": chance.pick(DRIVERS), "pool": chance.pick(pool_names)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {"taint": taint(chance), "deviceSelector": selector},
    }
