"""Laws of the planned writes, whatever the node has, wants and loses on the way."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.publish.devices import Offer
from nodeagent.publish.features import Feature, Layout, Shape
from nodeagent.publish.plan import Pool, Writes, plan_writes
from nodeagent.publish.slices import DesiredSlice, slices_of

POOL = Pool(driver="gpu.nvidia.com", node_name="gpu-01", node_uid="node-uid", name="gpu-01")

slices = st.builds(
    lambda names: DesiredSlice(devices=tuple({"name": name} for name in names)),
    st.lists(st.sampled_from("abcdef"), max_size=2),
)
GPUS = (
    *gpus("a100x2-mig", node_name="n"),
    *gpus("h100x8", node_name="n", is_dynamic=True)[2:4],
    *gpus("l4x4", node_name="n"),
)
inventories = st.builds(
    lambda chosen, shape: slices_of(Offer(Inventory.of(chosen, source=Source.SIMULATED)), shape),
    st.lists(st.sampled_from(GPUS), unique_by=lambda gpu: gpu.minor),
    st.builds(Shape, st.frozensets(st.sampled_from(Feature)), st.sampled_from(Layout)),
)
pools = st.one_of(st.lists(slices, min_size=1, max_size=4).map(tuple), inventories)

Content = tuple[tuple[str, ...], ...]


@dataclass
class Store:
    """An API server's slices, and what a consumer of the pool could use at each moment."""

    slices: dict[str, dict[str, Any]] = field(default_factory=dict)
    generations: list[int] = field(default_factory=list)
    usable: list[Content | None] = field(default_factory=list)
    newest_seen: int = 0
    _number: int = 0

    def plan(self, desired: tuple[DesiredSlice, ...]) -> Writes:
        return plan_writes(
            desired, self.slices.values(), pool=POOL, after_generation=self.newest_seen
        )

    def run(self, desired: tuple[DesiredSlice, ...], *, steps: int | None = None) -> int:
        """Write what is planned, or only the first steps of it; return how many there were."""
        writes = copy.deepcopy(self.plan(desired))
        done = 0
        for step in self._steps(writes):
            if done == steps:
                break
            step()
            done += 1
            self.usable.append(self.consumers_view())
        return done

    def _steps(self, writes: Writes) -> Iterator[Any]:
        for body in writes.delete:
            yield lambda body=body: self.slices.pop(name_of(body))
        for body in writes.replace:
            yield lambda body=body: self._store(name_of(body), body)
        for body in writes.create:
            yield lambda body=body: self._store(self._new_name(body), body)
        for body in writes.clear:
            yield lambda body=body: self.slices.pop(name_of(body))

    def _new_name(self, body: Any) -> str:
        self._number += 1
        return f"{body['metadata']['generateName'][:58]}{self._number:05}"

    def _store(self, name: str, body: Any) -> None:
        body["metadata"]["name"] = name
        self.slices[name] = body
        generation = body["spec"]["pool"]["generation"]
        self.generations.append(generation)
        self.newest_seen = max(self.newest_seen, generation)

    def consumers_view(self) -> Content | None:
        """The devices of the newest generation if it is complete; `None` if it is not."""
        pools = [one["spec"]["pool"] for one in self.slices.values()]
        newest = max((pool["generation"] for pool in pools), default=0)
        names = [
            name
            for name in sorted(self.slices)
            if self.slices[name]["spec"]["pool"]["generation"] == newest
        ]
        counts = {self.slices[name]["spec"]["pool"]["resourceSliceCount"] for name in names}
        if counts != {len(names)}:
            return None
        return tuple(
            tuple(device["name"] for device in self.slices[name]["spec"].get("devices", []))
            for name in names
        )


def name_of(body: Any) -> str:
    return str(body["metadata"]["name"])


def content_of(desired: tuple[DesiredSlice, ...]) -> Content:
    return tuple(tuple(str(device["name"]) for device in one.devices) for one in desired)


@given(pools, pools)
def test_one_sync_leads_from_any_pool_to_any_other_and_then_there_is_nothing_to_do(
    first: tuple[DesiredSlice, ...], second: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    store.run(first)

    store.run(second)

    assert store.consumers_view() == content_of(second)
    assert len(store.slices) == len(second)
    assert store.plan(second) == Writes()


@given(pools, pools)
def test_consumers_see_the_old_pool_or_the_new_one_or_none_and_never_a_mixture(
    first: tuple[DesiredSlice, ...], second: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    store.run(first)
    store.usable.clear()

    store.run(second)

    assert set(store.usable) <= {None, content_of(first), content_of(second)}
    if content_of(first) != content_of(second):
        complete = store.usable.index(content_of(second))
        assert set(store.usable[complete:]) == {content_of(second)}, "once and for all"


@given(
    st.lists(
        st.tuples(pools, st.integers(0, 6), st.sets(st.integers(0, 3))), min_size=1, max_size=5
    ),
    pools,
)
def test_syncs_that_break_off_and_slices_that_vanish_are_made_good_by_the_next_whole_sync(
    mishaps: list[tuple[tuple[DesiredSlice, ...], int, set[int]]], last: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    for desired, steps, lost in mishaps:
        store.run(desired, steps=steps)
        for name in [name for n, name in enumerate(sorted(store.slices)) if n in lost]:
            del store.slices[name]

    store.run(last)

    assert store.consumers_view() == content_of(last)
    assert store.plan(last) == Writes()
    assert all(earlier <= later for earlier, later in pairwise(store.generations))


@given(pools, pools)
def test_a_pool_of_as_many_slices_keeps_their_names(
    first: tuple[DesiredSlice, ...], second: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    store.run(first)
    names = sorted(store.slices)

    store.run(second)

    common = min(len(first), len(second))
    assert sorted(store.slices)[:common] == names[:common]


@given(pools, pools)
def test_a_generation_grows_only_where_one_replacement_does_not_do(
    first: tuple[DesiredSlice, ...], second: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    store.run(first)
    before = store.newest_seen

    writes = store.run(second)

    changed = sum(one != other for one, other in zip(first, second, strict=False))
    is_one_replacement = len(first) == len(second) and changed <= 1
    assert (store.newest_seen == before) == is_one_replacement
    assert writes <= max(len(first), len(second))


@given(pools, pools)
def test_a_pool_is_of_no_use_from_the_first_write_of_a_generation_to_the_last_and_no_longer(
    first: tuple[DesiredSlice, ...], second: tuple[DesiredSlice, ...]
) -> None:
    store = Store()
    store.run(first)
    store.usable.clear()
    writes = store.plan(second)
    generation = len(writes.replace) + len(writes.create)

    store.run(second)

    assert [view is None for view in store.usable] == [
        *[True] * max(0, generation - 1),
        *[False] * min(1, generation),
        *[False] * len(writes.clear),
    ]
