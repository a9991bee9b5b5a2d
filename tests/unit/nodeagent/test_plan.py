import copy
from itertools import count
from typing import Any

import pytest

from nodeagent.fields import JsonObject
from nodeagent.publish.plan import Pool, Writes, is_same, lost_counters, plan_writes
from nodeagent.publish.slices import DesiredSlice, slices_of, split
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
    server.run(*slices_of(a_mig_inventory(), with_partitions=True))

    assert server.run(*slices_of(a_mig_inventory(), with_partitions=True)) == Writes()


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
    many: list[JsonObject] = [{"name": f"d{index:03}"} for index in range(300)]
    server.run(*split(many))

    writes = server.run(*split(many[:100]))

    assert sizes(writes) == (2, 1, 0)
    assert server.pools() == {(1, 1)}


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

    assert [name_of(one) for one in writes.delete] == [stray["metadata"]["name"]]
    assert sizes(writes) == (1, 0, 0)


def test_of_two_slices_with_one_index_the_later_name_goes() -> None:
    server = Server()
    server.run(*slices_with("a"))
    double = copy.deepcopy(next(iter(server.slices.values())))
    double["metadata"]["name"] = "00000-gpu.nvidia.com-gpu-01-zzzzz"
    server.slices["00000-gpu.nvidia.com-gpu-01-zzzzz"] = double

    writes = server.run(*slices_with("a"))

    assert [name_of(one) for one in writes.delete] == ["00000-gpu.nvidia.com-gpu-01-zzzzz"]


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


def test_quantities_are_compared_by_value_and_devices_by_order() -> None:
    one: JsonObject = {"capacity": {"memory": {"value": "1Gi"}}, "name": "a"}
    same: JsonObject = {"capacity": {"memory": {"value": "1073741824"}}, "name": "a"}
    other: JsonObject = {"capacity": {"memory": {"value": "1G"}}, "name": "a"}

    assert is_same({"devices": [one]}, {"devices": [same]})
    assert not is_same({"devices": [one]}, {"devices": [other]})
    assert not is_same(
        {"devices": [{"name": "a"}, {"name": "b"}]}, {"devices": [{"name": "b"}, {"name": "a"}]}
    )
    assert is_same({"devices": []}, {})


def test_dropped_counters_are_noticed() -> None:
    counters, devices = slices_of(a_mig_inventory(), with_partitions=True)
    sent: JsonObject = {"spec": counters.spec_members()}
    consumers: JsonObject = {"spec": devices.spec_members()}
    stripped = copy.deepcopy(consumers)
    spec: Any = stripped["spec"]
    for device in spec["devices"]:
        del device["consumesCounters"]

    assert lost_counters(sent, {"spec": {}})
    assert lost_counters(consumers, stripped)
    assert not lost_counters(sent, sent)
    assert not lost_counters(consumers, consumers)
