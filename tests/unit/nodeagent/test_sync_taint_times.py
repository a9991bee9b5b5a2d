"""Since when a taint is said to be there, in virtual time."""

import copy

from tests.builders.agents import an_inventory
from tests.builders.publication import LOST, SICK, hopper_inventory, published


def test_a_rewrite_keeps_the_times_of_taints() -> None:
    node = published(an_inventory(), gpu_0=(LOST,))
    since = node.server.taints()["gpu-0"][0]["timeAdded"]

    node.offer(an_inventory(), gpu_0=(LOST, SICK), gpu_1=(LOST,))
    node.run_for(10)

    lost, sick = node.server.taints()["gpu-0"]
    assert lost["timeAdded"] == since
    assert sick["timeAdded"] != since
    assert node.server.taints()["gpu-1"][0]["timeAdded"] != since


def test_a_wipe_does_not_start_the_clock_of_a_taint_again() -> None:
    node = published(an_inventory(), gpu_0=(LOST,))
    before = node.server.taints()

    node.server.wipe()
    node.run_for(10)

    assert node.server.taints() == before


def test_a_restarted_agent_keeps_the_times_and_writes_nothing() -> None:
    node = published(hopper_inventory(), gpu_0=(LOST,))
    stored = copy.deepcopy(node.server.stored)

    node.restart()
    node.offer(hopper_inventory(), gpu_0=(LOST,))
    node.run_for(60)

    assert node.server.stored == stored


def test_a_taint_that_went_and_came_back_is_a_new_one() -> None:
    node = published(an_inventory(), gpu_0=(LOST,))
    before = node.server.taints()["gpu-0"][0]["timeAdded"]

    node.offer(an_inventory())
    node.run_for(10)
    node.offer(an_inventory(), gpu_0=(LOST,))
    node.run_for(10)

    assert node.server.taints()["gpu-0"][0]["timeAdded"] != before
