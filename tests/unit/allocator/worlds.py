"""The notation of `dra-semantics.md` section 6, for tables of claims, worlds and answers.

Node `n` (zone=z1, site=s1) and node `m` (zone=z2, site=s1); class `A` is driver `a`, class
`B` driver `b`, class `As` the shareable devices of `a`, `Ad` the others, `E` has no selector.
`pool("p", "x", "y")` is one complete slice on node `n` of driver `a`.

An answer is written as text: `r=p/x r=b/q/y` for one claim, ` | ` between claims, `!` after
an admin pick, `~` after a share, with the consumed capacity in braces. `NONE` is no
solution, `LOCAL` no solution beside an invalid pool, `FATAL: ...` broken input.
"""

from collections.abc import Sequence

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import AllocationResult, DeviceResult, Json, JsonObject, Snapshot
from dra_console.allocator.rules import DEFAULT_FEATURES, DEFAULT_RULES, Feature, Quirks, Rules
from dra_console.allocator.search.search import (
    DEFAULT_STEP_BUDGET,
    Allocated,
    BrokenInput,
    BudgetExhausted,
    DoesNotFit,
    Outcome,
    allocate,
)
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)

SHAREABLE = 'device.driver == "a" && device.allowMultipleAllocations == true'
DEDICATED = 'device.driver == "a" && device.allowMultipleAllocations == false'

NODES = [a_node("n", zone="z1", site="s1"), a_node("m", zone="z2", site="s1")]
CLASSES = [
    a_class("A", driver="a"),
    a_class("B", driver="b"),
    a_class("As", selectors=[SHAREABLE]),
    a_class("Ad", selectors=[DEDICATED]),
    a_class("E", selectors=[]),
]


def with_gates(*features: Feature) -> Rules:
    """Switch feature gates on that are off by default."""
    return Rules(DEFAULT_FEATURES | {*features})


def without_gates(*features: Feature) -> Rules:
    """Switch feature gates off that are on by default."""
    return Rules(DEFAULT_FEATURES - {*features})


SANE = Rules(quirks=Quirks.none())
"""What the API documents, without upstream's accidents."""


def dev(
    name: str,
    *,
    mem: str | None = None,
    attributes: dict[str, Json] | None = None,
    uses: dict[str, dict[str, str]] | None = None,
    **fields: Json,
) -> JsonObject:
    """Build a device; `mem` is its capacity, `uses` counter set to counter to amount."""
    return a_device(name, memory=mem, attributes=attributes, consumes=uses) | fields


def pool(  # noqa: PLR0913  a builder has one default for each thing a test may state
    name: str,
    *devices: JsonObject | str,
    driver: str = "a",
    node: str | None = "n",
    part: str = "1/1",
    generation: int = 1,
    slice_name: str = "",
    **spec: Json,
) -> JsonObject:
    """Build a slice; `part` is its number and how many the pool announces."""
    number, _, count = part.partition("/")
    return a_slice(
        slice_name or f"{driver}-{name}-{generation}-{number}-{node}",
        node=node,
        pool=name,
        driver=driver,
        generation=generation,
        slice_count=int(count),
        devices=[dev(each) if isinstance(each, str) else each for each in devices],
        **spec,
    )


def counters(name: str, *, part: str, **counter_sets: dict[str, str]) -> JsonObject:
    """Build a slice with the counter sets of a pool."""
    return pool(
        name,
        part=part,
        slice_name=f"counters-{name}",
        sharedCounters=[
            {
                "name": counter_set,
                "counters": {counter: {"value": value} for counter, value in values.items()},
            }
            for counter_set, values in counter_sets.items()
        ],
    )


def r(name: str = "r", device_class: str = "A", *selectors: str, **fields: Json) -> JsonObject:
    """Build a request of mode ExactCount."""
    return a_request(name, device_class=device_class, selectors=list(selectors), **fields)


def every(name: str = "r", device_class: str = "A", *selectors: str, **fields: Json) -> JsonObject:
    """Build a request of mode All."""
    return r(name, device_class, *selectors, allocationMode="All", **fields)


def claim(
    *requests: JsonObject,
    match: Sequence[tuple[str, list[str]]] = (),
    distinct: Sequence[tuple[str, list[str]]] = (),
    config: list[JsonObject] | None = None,
    name: str = "c",
) -> JsonObject:
    """Build a claim; constraints are an attribute and the requests they cover."""
    constraints: list[JsonObject] = [
        {kind: attribute, "requests": [*covered]}
        for kind, each in (("matchAttribute", match), ("distinctAttribute", distinct))
        for attribute, covered in each
    ]
    return a_claim(
        name, namespace="t", requests=list(requests), constraints=constraints, config=config
    )


def used(*devices: str, **fields: Json) -> JsonObject:
    """Build an allocated claim that holds devices written like `p/x` or `b/p/x`."""
    results = []
    for device in devices:
        driver, pool_name, name = (
            device.split("/") if device.count("/") > 1 else ("a", *device.split("/"))
        )
        results.append(a_result(name, driver=driver, pool=pool_name) | fields)
    return an_allocated_claim(
        f"used-{len(devices)}-{devices[0].replace('/', '-')}", namespace="t", results=results
    )


def snapshot(*objects: JsonObject) -> Snapshot:
    """Decode nodes, classes and the given objects."""
    return decode_snapshot([*NODES, *CLASSES, *objects])


def outcome(
    claims: Sequence[JsonObject],
    world: Sequence[JsonObject],
    *,
    node: str = "n",
    rules: Rules = DEFAULT_RULES,
    step_budget: int = DEFAULT_STEP_BUDGET,
) -> Outcome:
    """Allocate the claims together on one node of a world."""
    state = snapshot(*world)
    where = next(each for each in state.nodes if each.name == node)
    named = [
        each | {"metadata": {"namespace": "t", "name": f"c{index}"}}
        for index, each in enumerate(claims)
    ]
    return allocate(
        state,
        [decode_claim(each) for each in named],
        node=where,
        rules=rules,
        step_budget=step_budget,
    )


def answer(
    claims: Sequence[JsonObject],
    world: Sequence[JsonObject],
    *,
    node: str = "n",
    rules: Rules = DEFAULT_RULES,
) -> str:
    """Allocate and write the answer as text."""
    match outcome(claims, world, node=node, rules=rules):
        case Allocated(results):
            return " | ".join(picks(result) for result in results)
        case DoesNotFit(invalid_pools=invalid):
            return "LOCAL" if invalid else "NONE"
        case BrokenInput(message):
            return f"FATAL: {message}"
        case BudgetExhausted():
            return "BUDGET"


def picks(result: AllocationResult) -> str:
    """Write the devices of one claim."""
    return " ".join(_pick(each) for each in result.results)


def _pick(result: DeviceResult) -> str:
    driver = "" if result.driver == "a" else f"{result.driver}/"
    consumed = ",".join(
        f"{name}:{amount}" for name, amount in sorted((result.consumed_capacity or {}).items())
    )
    return (
        f"{result.request}={driver}{result.pool}/{result.device}"
        f"{'!' if result.admin_access else ''}{'~' if result.share_id else ''}"
        f"{f'{{{consumed}}}' if consumed else ''}"
    )
