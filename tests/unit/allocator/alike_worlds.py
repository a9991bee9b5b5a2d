"""Nodes that look alike but for one thing, drawn by hypothesis.

What is known of one node is told of others that are alike, so a world in which nearly all
nodes are equal, and one differs in what must not be overlooked, is where that would show.
"""

from copy import deepcopy

from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import a_node, a_result, an_allocated_claim
from tests.unit.allocator.worlds import claim, counters, dev, pool, r

NODES = 6
DEVICES = 4
SHARE = "00000000-0000-4000-8000-000000000001"

PLAIN: dict[str, Json] = {}
SHAREABLE: dict[str, Json] = {"allowMultipleAllocations": True}
BOUND: dict[str, Json] = {
    "bindingConditions": ["ready"],
    "bindingFailureConditions": ["failed"],
    "bindsToNode": True,
}
TAINT: dict[str, Json] = {"key": "k", "value": "v", "effect": "NoSchedule"}
TAINTED: dict[str, Json] = {"taints": [TAINT]}
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


@st.composite
def bodies(draw: st.DrawFn, name: str) -> JsonObject:
    """Draw a device."""
    attributes: dict[str, Json] = {
        "model": draw(st.sampled_from(("big", "big", "small"))),
        "uuid": name,
    }
    if draw(st.booleans()):
        attributes["numa"] = draw(st.integers(0, 1))
    if draw(st.integers(0, 9)) == 0:
        attributes["broken"] = 1
    uses = draw(st.sampled_from((None, None, "1", "2")))
    fields = draw(st.sampled_from((PLAIN, PLAIN, PLAIN, SHAREABLE, BOUND, TAINTED)))
    device = dev(
        name,
        mem=draw(st.sampled_from(("2", "4"))),
        attributes=attributes,
        uses={"board": {"memory": uses}} if uses else None,
    )
    capacity = device["capacity"]
    assert isinstance(capacity, dict)
    if fields is SHAREABLE and draw(st.booleans()):
        capacity["memory"] = {"value": "4", "requestPolicy": POLICY}
    return device | fields


@st.composite
def worlds(draw: st.DrawFn) -> list[JsonObject]:
    """Draw nodes that are copies of one, then change one device here and there."""
    model = [draw(bodies(f"gpu-{at}")) for at in range(DEVICES)]
    board = draw(st.sampled_from(("3", "4", "8")))
    objects = []
    for number in range(NODES):
        devices = deepcopy(model)
        if draw(st.integers(0, 2)) == 0:
            place = draw(st.integers(0, DEVICES - 1))
            devices[place] = draw(bodies(f"gpu-{place}"))
        total = draw(st.sampled_from((board, board, board, "2")))
        part = draw(st.sampled_from(("/2", "/2", "/2", "/2", "/3")))
        name = f"node-{number}"
        objects += [
            a_node(name, zone=f"z{number % 2}"),
            counters(name, part=f"1{part}", board={"memory": total}) | {},
            pool(name, *devices, node=name, part=f"2{part}"),
        ]
        spec = objects[-2]["spec"]
        assert isinstance(spec, dict)
        spec["nodeName"] = name
    if draw(st.booleans()):
        shared = [draw(bodies(f"gpu-{at}")) for at in range(2)]
        stripped = [{k: v for k, v in each.items() if k != "consumesCounters"} for each in shared]
        objects.append(pool("anywhere", *stripped, node=None, allNodes=True))
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
