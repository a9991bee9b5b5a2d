import copy
from itertools import count
from typing import Any

import pytest

from nodeagent.fields import JsonObject
from nodeagent.publish.devices import Offer
from nodeagent.publish.features import Shape
from nodeagent.publish.plan import Pool, Writes, plan_writes
from nodeagent.publish.slices import DesiredSlice, slices_of
from tests.builders.agents import a_mig_inventory

POOL = Pool(driver="gpu.nvidia.com", node_name="gpu-01", node_uid="node-uid", name="gpu-01")


class Server:
    """Stores slices as an API server would, as far as planning can tell."""

    def __init__(self) -> None:
        self.slices: dict[str, dict[str, Any]] = {}
        self._numbers = count(1)

    def run(self, *desired: DesiredSlice) -> Writes:
        writes = plan_writes(desired, self.slices.values(), pool=POOL)
        for old in copy.deepcopy(writes.delete):
            del self.slices[name_of(old)]
        for changed in copy.deepcopy(writes.replace):
            self._store(name_of(changed), changed)
        for new in copy.deepcopy(writes.create):
            number = next(self._numbers)
            metadata: Any = new["metadata"]
            self._store(f"{metadata['generateName'][:58]}x{number:04}", new)
        for old in copy.deepcopy(writes.clear):
            del self.slices[name_of(old)]
        return writes

    def _store(self, name: str, slice_object: dict[str, Any]) -> None:
        slice_object["metadata"] |= {"name": name, "resourceVersion": str(next(self._numbers))}
        self.slices[name] = slice_object

    def specs(self) -> list[dict[str, Any]]:
        return [self.slices[name]["spec"] for name in sorted(self.slices)]

    def pools(self) -> set[tuple[int, int]]:
        return {
            (spec["pool"]["generation"], spec["pool"]["resourceSliceCount"])
            for spec in self.specs()
        }


def name_of(slice_object: JsonObject) -> str:
    metadata: Any = slice_object["metadata"]
    return str(metadata["name"])


def sizes(writes: Writes) -> tuple[int, int, int]:
    return len(writes.delete), len(writes.replace), len(writes.create)


def slices_with(*names: str) -> tuple[DesiredSlice, ...]:
    return tuple(DesiredSlice(devices=({"name": name},)) for name in names)


def test_the_first_publication_creates_all_slices_under_one_generation() -> None:
    server = Server()

    writes = server.run(*slices_with("a", "b"))

    assert sizes(writes) == (0, 0, 2)
    assert server.pools() == {(1, 2)}
    assert [name.split("-")[0] for name in sorted(server.slices)] == ["00000", "00001"]
    created: Any = writes.create[0]
    assert created["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": "gpu-01",
            "uid": "node-uid",
            "controller": True,
        }
    ]


def test_what_is_as_it_should_be_is_not_written() -> None:
    server = Server()
    server.run(*slices_of(Offer(a_mig_inventory()), Shape()))

    assert server.run(*slices_of(Offer(a_mig_inventory()), Shape())) == Writes()


def test_one_changed_slice_is_replaced_under_its_generation() -> None:
    server = Server()
    server.run(*slices_with("a", "b"))

    writes = server.run(*slices_with("a", "c"))

    assert sizes(writes) == (0, 1, 0)
    assert server.pools() == {(1, 2)}


def test_two_changed_slices_mean_a_new_generation_for_all() -> None:
    server = Server()
    server.run(*slices_with("a", "b", "c"))

    writes = server.run(*slices_with("x", "y", "c"))

    assert sizes(writes) == (0, 3, 0)
    assert server.pools() == {(2, 3)}


def tainted(*names: str) -> tuple[DesiredSlice, ...]:
    taints: JsonObject = {"taints": [{"key": "xid", "effect": "NoSchedule"}]}
    return tuple(DesiredSlice(devices=({"name": name, **taints},)) for name in names)


def test_taints_in_several_slices_leave_the_pool_complete_at_each_moment() -> None:
    server = Server()
    server.run(*slices_with("a", "b", "c"))

    writes = server.run(*tainted("a", "b"), *slices_with("c"))

    assert sizes(writes) == (0, 2, 0)
    assert server.pools() == {(1, 3)}


def test_a_device_that_changes_beside_taints_in_other_slices_is_one_change() -> None:
    server = Server()
    server.run(*slices_with("a", "b", "c"))

    writes = server.run(*tainted("a", "b"), *slices_with("x"))

    assert sizes(writes) == (0, 3, 0)
    assert server.pools() == {(1, 3)}
    server.run(*tainted("y"), *slices_with("b", "z"))
    assert server.pools() == {(2, 3)}


def test_a_deleted_slice_comes_back_and_the_others_follow_its_generation() -> None:
    server = Server()
    server.run(*slices_with("a", "b"))
    del server.slices[min(server.slices)]

    writes = server.run(*slices_with("a", "b"))

    assert sizes(writes) == (0, 1, 1)
    assert server.pools() == {(2, 2)}


def test_after_a_wipe_all_is_created_again() -> None:
    server = Server()
    server.run(*slices_with("a", "b"))
    server.slices.clear()

    assert sizes(server.run(*slices_with("a", "b"))) == (0, 0, 2)


def test_a_pool_that_shrinks_loses_its_last_slices() -> None:
    server = Server()
    server.run(*slices_with("a", "b", "c"))

    writes = server.run(*slices_with("a"))

    assert sizes(writes) == (0, 1, 0)
    assert len(writes.clear) == 2
    assert server.pools() == {(2, 1)}


@pytest.mark.parametrize(
    "change",
    [
        {"name": "zzzzz-gpu"},
        {"name": "000-gpu"},
        {"name": "00007-gpu"},
        {"generation": 0},
        {"pool": "another"},
    ],
)
def test_slices_that_cannot_be_placed_are_obsolete(change: dict[str, object]) -> None:
    server = Server()
    server.run(*slices_with("a"))
    stray = copy.deepcopy(next(iter(server.slices.values())))
    stray["metadata"]["name"] = change.get("name", "00000-gpu-stray")
    stray["spec"]["pool"]["generation"] = change.get("generation", 1)
    stray["spec"]["pool"]["name"] = change.get("pool", "gpu-01")
    server.slices[stray["metadata"]["name"]] = stray

    writes = server.run(*slices_with("a"))

    gone = (*writes.delete, *writes.clear)
    assert [name_of(one) for one in gone] == [stray["metadata"]["name"]]
    assert sizes(writes)[1:] == (0, 0)


def test_another_pools_slices_go_before_the_same_devices_are_offered_here() -> None:
    server = Server()
    server.run(*slices_with("a"))
    moved = next(iter(server.slices.values()))
    moved["spec"]["pool"]["name"] = "another"

    writes = server.run(*slices_with("a"))

    assert sizes(writes) == (1, 0, 1)
    assert writes.clear == ()


def test_of_two_slices_with_one_index_the_later_name_goes() -> None:
    server = Server()
    server.run(*slices_with("a"))
    double = copy.deepcopy(next(iter(server.slices.values())))
    double["metadata"]["name"] = "00000-gpu.nvidia.com-gpu-01-zzzzz"
    server.slices["00000-gpu.nvidia.com-gpu-01-zzzzz"] = double

    writes = server.run(*slices_with("a"))

    assert [name_of(one) for one in writes.clear] == ["00000-gpu.nvidia.com-gpu-01-zzzzz"]


def test_a_replacement_carries_what_others_wrote_beside_the_spec() -> None:
    server = Server()
    server.run(*slices_with("a"))
    next(iter(server.slices.values()))["metadata"]["labels"] = {"team": "infra"}

    writes = server.run(*slices_with("b"))

    replaced: Any = writes.replace[0]
    assert replaced["metadata"]["labels"] == {"team": "infra"}
    assert replaced["metadata"]["resourceVersion"]


def test_the_index_grows_with_the_pool_and_always_comes_first() -> None:
    desired = [DesiredSlice()] * (0xFFFFF + 2)

    writes = plan_writes(desired[:2], [], pool=POOL)
    names: Any = [one["metadata"] for one in writes.create]

    assert [name["generateName"] for name in names] == [
        "00000-gpu.nvidia.com-gpu-01-",
        "00001-gpu.nvidia.com-gpu-01-",
    ]


def test_outdated_slices_are_overwritten_and_keep_their_names() -> None:
    """A sync that broke off half-way: the first slice has the new generation, the others not."""
    server = Server()
    server.run(*slices_with("a", "b", "c"))
    names = set(server.slices)
    server.slices[min(names)]["spec"]["pool"]["generation"] = 2

    writes = server.run(*slices_with("a", "b", "c"))

    assert sizes(writes) == (0, 3, 0)
    assert set(server.slices) == names
    assert server.pools() == {(3, 3)}


def test_a_wiped_pool_comes_back_under_a_generation_that_nobody_has_seen() -> None:
    writes = plan_writes(slices_with("a", "b"), [], pool=POOL, after_generation=7)

    created: list[Any] = list(writes.create)
    assert {one["spec"]["pool"]["generation"] for one in created} == {8}


@pytest.mark.parametrize(
    "owner",
    [
        {"nodeName": "gpu-02"},
        {"nodeName": None},
        {"allNodes": True, "nodeName": None},
        {"driver": "other.example.com"},
    ],
)
def test_slices_of_other_nodes_or_drivers_are_left_alone(owner: dict[str, object]) -> None:
    server = Server()
    server.run(*slices_with("a"))
    foreign = copy.deepcopy(next(iter(server.slices.values())))
    foreign["metadata"]["name"] = "00001-foreign"
    foreign["spec"] |= owner | {
        "pool": {"name": "gpu-01", "generation": 9, "resourceSliceCount": 1}
    }
    server.slices["00001-foreign"] = foreign

    assert server.run(*slices_with("a")) == Writes()
    assert sizes(server.run(*slices_with("b"))) == (0, 1, 0)


def test_what_the_server_makes_of_a_slice_can_count_as_published() -> None:
    server = Server()
    server.run(*slices_with("a"))

    writes = plan_writes(
        slices_with("b"),
        server.slices.values(),
        pool=POOL,
        is_published=lambda stored, wanted: "devices" in stored and "devices" in wanted,
    )

    assert writes == Writes()
