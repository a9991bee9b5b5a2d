"""Hypothesis strategies: quantities, draws, and whole small worlds."""

from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity, SuffixFamily
from dra_console.allocator.world.counters import Draw
from tests.builders.objects import (
    CLASS,
    DRIVER,
    a_claim,
    a_class,
    a_counter_set,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    a_taint,
    an_allocated_claim,
)

COUNTERS = (("gpu-0", "memory"), ("gpu-0", "slices"))
SELECTORS = (
    'device.attributes["gpu.nvidia.com"].model == "big"',
    'device.attributes["gpu.nvidia.com"].?root.orValue(0) == 1',
    'device.capacity["gpu.nvidia.com"].memory.isGreaterThan(quantity("40Gi"))',
)


def quantities() -> st.SearchStrategy[Quantity]:
    return st.builds(
        Quantity,
        nanos=st.integers(-(2**63 - 1) * 10**9, (2**63 - 1) * 10**9),
        family=st.sampled_from(SuffixFamily),
    )


def draws() -> st.SearchStrategy[list[Draw]]:
    amounts = st.integers(0, 12).map(Quantity.of)
    drawn = st.builds(Draw, counter=st.sampled_from(COUNTERS), amount=amounts)
    return st.lists(drawn, max_size=4, unique_by=lambda each: each.counter)


@st.composite
def devices(draw: st.DrawFn, name: str) -> JsonObject:
    attributes: dict[str, Json] = {"model": draw(st.sampled_from(("big", "small")))}
    if draw(st.booleans()):
        attributes["root"] = draw(st.integers(0, 1))
    taints: list[Json] = [a_taint()] if draw(st.integers(0, 5)) == 0 else []
    uses = draw(st.sampled_from((None, None, "20Gi", "40Gi")))
    return a_device(
        name,
        memory=draw(st.sampled_from(("40Gi", "80Gi"))),
        attributes=attributes,
        consumes={"board": {"memory": uses}} if uses else None,
        taints=taints,
    )


@st.composite
def requests(draw: st.DrawFn, name: str) -> JsonObject:
    selectors = draw(st.lists(st.sampled_from(SELECTORS), max_size=1))
    return a_request(name, device_class=CLASS, selectors=selectors, count=draw(st.integers(1, 3)))


@st.composite
def claims(draw: st.DrawFn, name: str = "asked") -> JsonObject:
    count = draw(st.integers(1, 2))
    kind = draw(st.sampled_from(("", "", "matchAttribute", "distinctAttribute")))
    constraints: list[JsonObject] = [{kind: f"{DRIVER}/root"}] if kind else []
    return a_claim(
        name,
        requests=[draw(requests(f"r{index}")) for index in range(count)],
        constraints=constraints,
    )


@st.composite
def worlds(draw: st.DrawFn, *, most_devices: int = 5) -> list[JsonObject]:
    """Build nodes, a class, pools with counters, and claims that hold some of the devices."""
    objects: list[JsonObject] = [a_class()]
    left = most_devices
    for node in ("gpu-01", "gpu-02"):
        count = draw(st.integers(0, left))
        left -= count
        names = [f"gpu-{index}" for index in range(count)]
        slice_count = draw(st.sampled_from((2, 2, 2, 3)))
        counters = a_counter_set("board", {"memory": draw(st.sampled_from(("40Gi", "80Gi")))})
        objects += [
            a_node(node),
            a_slice(
                f"{node}-counters", node=node, slice_count=slice_count, sharedCounters=[counters]
            ),
            a_slice(
                f"{node}-devices",
                node=node,
                slice_count=slice_count,
                devices=[draw(devices(name)) for name in names],
            ),
        ]
        held = draw(st.sets(st.sampled_from(names), max_size=2)) if names else set()
        objects += [
            an_allocated_claim(
                f"held-{node}-{each}", results=[a_result(each, pool=node)], node=node
            )
            for each in sorted(held)
        ]
    return objects
