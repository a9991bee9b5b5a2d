"""How often slices are written, and what may not wait, in virtual time."""

from itertools import pairwise

import pytest

from tests.builders.agents import an_inventory
from tests.builders.publication import (
    LOST,
    SICK,
    UNWATCHED,
    Publication,
    all_names,
    hopper_inventory,
    plain_gpus,
    published,
)


def test_a_node_at_rest_writes_nothing_for_an_hour() -> None:
    node = Publication(shares=4)
    node.offer(hopper_inventory(), gpu_0=(SICK, UNWATCHED))
    node.run_for(120)
    writes, tried = len(node.server.log), node.server.tried

    for _ in range(60):
        node.publisher.check_now()
        node.offer(hopper_inventory(), gpu_0=(UNWATCHED, SICK))
        node.run_for(60)

    assert (len(node.server.log), node.server.tried) == (writes, tried)


def test_taints_that_flap_write_each_slice_once_a_second_at_most() -> None:
    node = Publication()
    inventory = hopper_inventory(2)
    node.offer(inventory)
    node.run_for(10)
    node.server.log.clear()

    for tenth in range(300):
        node.offer(
            inventory, gpu_0=(SICK,) if tenth % 2 else (), gpu_2=(LOST,) if tenth % 3 else ()
        )
        node.run_for(0.1)
    node.offer(inventory, gpu_0=(SICK,))
    node.run_for(2)

    for name in {write.name for write in node.server.log}:
        times = [write.at for write in node.server.log if write.name == name]
        assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    generations = [write.generation for write in node.server.log]
    assert generations == sorted(generations)
    assert list(node.server.taints()) == ["gpu-0"]
    assert node.server.is_whole()


def test_a_taint_is_published_within_a_second_and_replaces_one_slice_in_place() -> None:
    node = published(hopper_inventory())
    before, generation = len(node.server.log), node.server.generation

    node.offer(hopper_inventory(), gpu_1=(SICK,))
    node.run_for(1)

    assert list(node.server.taints()) == ["gpu-1"]
    assert [write.operation for write in node.server.log[before:]] == ["replace"]
    assert node.server.generation == generation


def test_new_hardware_is_routine_and_waits_five_seconds_after_the_last_write() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(1)

    for count in range(3, 13):
        node.offer(plain_gpus(count))
        node.run_for(1)
    node.run_for(5)

    times = [write.at for write in node.server.log]
    assert len(node.server.devices()) == 12
    assert all(later - earlier >= 5 for earlier, later in pairwise(times))


def test_new_hardware_is_one_write_in_place() -> None:
    node = published(an_inventory())
    (name,) = node.server.stored

    node.offer(plain_gpus(3))
    node.run_for(10)

    assert list(node.server.stored) == [name]
    assert [write.operation for write in node.server.log] == ["create", "replace"]


def test_wiped_slices_are_not_kept_waiting_by_the_pace() -> None:
    node = Publication()
    node.offer(an_inventory())
    node.run_for(1)

    for _ in range(3):
        node.server.wipe()
        node.run_for(1)
        assert node.server.is_whole()

    generations = [write.generation for write in node.server.log if write.generation]
    assert generations == [1, 2, 3, 4]


@pytest.mark.parametrize("wipes_at", [(1,), (2, 3, 5), tuple(range(1, 30))])
def test_a_wipe_in_the_middle_of_a_publication_does_not_win(wipes_at: tuple[int, ...]) -> None:
    """Kubelet's deletion is under way while the agent publishes again."""
    node = Publication()
    changes = 0

    def wipe_now_and_then() -> None:
        nonlocal changes
        if node.server.stored and node.server.log[-1].operation == "create":
            changes += 1
            if changes in wipes_at:
                node.server.wipe()

    node.server.observe = wipe_now_and_then
    node.offer(hopper_inventory())
    node.run_for(60)

    assert changes > max(wipes_at)
    assert node.server.is_whole()
    assert node.server.devices() == all_names(hopper_inventory())
