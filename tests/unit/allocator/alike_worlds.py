"""Nodes that look alike but for one thing, drawn by hypothesis.

What is known of one node is told of others that are alike, so a world in which nearly all
nodes are equal, and one differs in what must not be overlooked, is where that would show.
"""

from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import a_counter_set, a_node, a_result, an_allocated_claim
from tests.unit.allocator.worlds import claim, dev, pool, r

NODES = 6
DEVICES = 4
SHARE = "00000000-0000-4000-8000-000000000001"

TAINT: dict[str, Json] = {"key": "k", "value": "v", "effect": "NoSchedule"}
POLICY: Json = {
    "default": "1",
    "validRange": {"min": "1", "step": "1", "max": "4"},
}

SELECTORS = (
    'device.attributes["a"].model == "big"',
    'device.attributes["a"].?numa.orValue(0) == 1',
    'device.capacity["a"].memory.compareTo(quantity("2")) >= 0',
    'device.attributes["a"].broken == 1',
)


def draws_of(amount: str) -> Json:
    return a_counter_set("board", {"memory": amount}, key="counterSet")


def a_body(name: str, uses: str | None) -> JsonObject:
    """Build the device that all others are copies of, but for a UUID."""
    attributes: dict[str, Json] = {"model": "big", "numa": 0, "uuid": name}
    draws = {"board": {"memory": uses}} if uses else None
    return dev(name, mem="4", attributes=attributes, uses=draws)


ALTERATIONS: dict[str, JsonObject] = {
    "model": {"attributes": {"model": {"string": "small"}}},
    "numa": {"attributes": {"numa": {"int": 1}}},
    "numa of another type": {"attributes": {"numa": {"string": "0"}}},
    "broken": {"attributes": {"broken": {"int": 1}}},
    "no version": {"attributes": {"firmware": {"version": "v1"}}},
    "memory": {"capacity": {"memory": {"value": "1"}}},
    "policy": {
        "capacity": {"memory": {"value": "4", "requestPolicy": POLICY}},
        "allowMultipleAllocations": True,
    },
    "shareable": {"allowMultipleAllocations": True},
    "tainted": {"taints": [TAINT]},
    "bound": {
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["failed"],
        "bindsToNode": True,
    },
    "draws 1": {"consumesCounters": [draws_of("1")]},
    "draws 3": {"consumesCounters": [draws_of("3")]},
}
"""Each changes one thing about a device."""


def altered(device: JsonObject, alteration: str) -> JsonObject:
    """Put the fields of an alteration over a device, or into a mapping of it."""
    fields = dict(device)
    for name, value in ALTERATIONS[alteration].items():
        known = fields.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            fields[name] = known | value
        else:
            fields[name] = value
    return fields


@st.composite
def worlds(draw: st.DrawFn) -> list[JsonObject]:
    """Draw nodes that are copies of one, then change one thing here and there."""
    uses = draw(st.sampled_from((None, None, "1", "2")))
    devices = [[a_body(f"gpu-{at}", uses) for at in range(DEVICES)] for _ in range(NODES)]
    totals = ["4"] * NODES
    parts = ["2"] * NODES
    for node in draw(st.lists(st.integers(0, NODES - 1), max_size=5)):
        what = draw(st.sampled_from((*ALTERATIONS, "total", "part")))
        place = draw(st.integers(0, DEVICES - 1))
        if what == "total":
            totals[node] = "2"
        elif what == "part":
            parts[node] = "3"
        else:
            devices[node][place] = altered(devices[node][place], what)
    objects = [a_node(f"node-{number}", zone=f"z{number % 2}") for number in range(NODES)]
    for number in range(NODES):
        name, part = f"node-{number}", parts[number]
        board = a_counter_set("board", {"memory": totals[number]})
        objects += [
            pool(
                name,
                node=name,
                part=f"1/{part}",
                slice_name=f"board-{name}",
                sharedCounters=[board],
            ),
            pool(name, *devices[number], node=name, part=f"2/{part}"),
        ]
    if draw(st.booleans()):
        everywhere = [a_body(f"gpu-{at}", None) for at in range(2)]
        objects.append(pool("anywhere", *everywhere, node=None, allNodes=True))
    return objects


@st.composite
def holders(draw: st.DrawFn) -> JsonObject:
    """Draw a claim that holds a device, or a share of one, or watches it."""
    place = draw(st.sampled_from([*(f"node-{number}" for number in range(NODES)), "anywhere"]))
    device = f"gpu-{draw(st.integers(0, DEVICES - 1))}"
    fields: dict[str, Json] = draw(
        st.sampled_from(
            (
                {},
                {},
                {"shareID": SHARE, "consumedCapacity": {"memory": "1"}},
                {"shareID": SHARE, "consumedCapacity": {"memory": "2"}},
                {"adminAccess": True},
            )
        )
    )
    result = a_result(device, driver="a", pool=place) | fields
    return an_allocated_claim(f"holder-{draw(st.integers(0, 7))}", namespace="t", results=[result])


@st.composite
def requests(draw: st.DrawFn, name: str) -> JsonObject:
    """Draw a request."""
    selectors = draw(st.lists(st.sampled_from(SELECTORS), max_size=1))
    device_class = draw(st.sampled_from(("A", "A", "E", "As", "Ad")))
    fields: dict[str, Json] = draw(
        st.sampled_from(
            (
                {},
                {"count": 2},
                {"count": 3},
                {"allocationMode": "All"},
                {"adminAccess": True},
                {"capacity": {"requests": {"memory": "2"}}},
                {"tolerations": [{"operator": "Exists"}]},
            )
        )
    )
    return r(name, device_class, *selectors, **fields)


@st.composite
def claims(draw: st.DrawFn) -> JsonObject:
    """Draw a claim of one or two requests."""
    names = [f"r{at}" for at in range(draw(st.integers(1, 2)))]
    match = draw(st.sampled_from(((), (), (("a/numa", []),), (("a/model", ["r0"]),))))
    distinct: tuple[tuple[str, list[str]], ...] = draw(
        st.sampled_from(((), (), (("a/model", []),)))
    )
    return claim(*(draw(requests(name)) for name in names), match=match, distinct=distinct)
