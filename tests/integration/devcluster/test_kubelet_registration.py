"""Drivers and kubelet find each other over the registry directory (`node-agent.md` 1.6, 4.8)."""

from dataclasses import replace

import pytest

from dra_console.kube.kinds import RESOURCE_SLICES
from tests.builders.objects import a_slice
from tests.integration.devcluster.drivers import DRIVER, SERVICES, V1, V1BETA1, Driver
from tests.integration.devcluster.nodes import FAST, SmallCluster, eventually


async def test_a_driver_that_is_there_at_the_start_is_registered(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()

    await eventually(lambda: driver.registered == [True])


async def test_a_driver_that_comes_later_is_registered(
    cluster: SmallCluster, driver: Driver
) -> None:
    await cluster.start()
    await driver.start()

    await eventually(lambda: driver.registered == [True])


@pytest.mark.parametrize("order", [(V1, V1BETA1), (V1BETA1, V1), (V1BETA1,)])
async def test_the_service_is_chosen_in_the_drivers_order(
    cluster: SmallCluster, driver: Driver, order: tuple[str, ...]
) -> None:
    driver.supported_versions = order
    await driver.start()
    await cluster.start()
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")

    await eventually(lambda: cluster.phase("a") == "Running")

    assert driver.services_called == {SERVICES[order[0]]}


async def test_a_driver_without_a_known_service_is_told_so_and_tried_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.supported_versions = ("v2.DRAPlugin",)
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.refusals)
    assert "v2.DRAPlugin" in driver.refusals[0]

    driver.supported_versions = (V1,)

    await eventually(lambda: driver.registered[-1])


async def test_a_plugin_of_another_type_is_refused(cluster: SmallCluster, driver: Driver) -> None:
    driver.plugin_type = "CSIPlugin"
    await driver.start()
    await cluster.start()

    await eventually(lambda: driver.refusals)

    assert "CSIPlugin" in driver.refusals[0]


async def test_a_second_instance_with_the_same_endpoint_is_refused(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])
    second = Driver(cluster.node_directory, instance="-2", endpoint=driver.dra_socket)
    await second.register()
    try:
        await eventually(lambda: second.refusals)
    finally:
        await second.stop()

    assert "already registered" in second.refusals[0]


async def test_the_newest_connected_instance_is_called(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])
    newer = Driver(cluster.node_directory, instance="-2")
    await newer.start()
    await eventually(lambda: newer.registered == [True])
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")

    await newer.stop()
    cluster.add_allocated_claim("h")
    cluster.add_pod("b", claim="h")
    await eventually(lambda: cluster.phase("b") == "Running")

    assert (newer.prepare_calls, driver.prepare_calls) == ([("g",)], [("h",)])


async def test_a_killed_driver_that_comes_back_is_registered_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])

    await driver.crash()
    await driver.start()

    await eventually(lambda: driver.registered == [True, True])
    assert not driver.refusals


async def test_slices_of_the_node_are_deleted_at_its_start(cluster: SmallCluster) -> None:
    cluster.add(RESOURCE_SLICES, a_slice("mine"))
    cluster.add(RESOURCE_SLICES, a_slice("of-another-driver", driver="nic.example"))
    cluster.add(RESOURCE_SLICES, a_slice("elsewhere", node="gpu-02"))

    await cluster.start()

    await eventually(lambda: cluster.slice_names() == {"elsewhere"})


async def test_slices_are_deleted_some_time_after_the_last_connection_is_lost(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])
    cluster.add(RESOURCE_SLICES, a_slice("mine"))
    cluster.add(RESOURCE_SLICES, a_slice("of-another-driver", driver="nic.example"))

    await driver.crash()

    await eventually(lambda: cluster.slice_names() == {"of-another-driver"})


async def test_removing_the_registration_socket_deregisters(
    cluster: SmallCluster, driver: Driver
) -> None:
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])
    cluster.add(RESOURCE_SLICES, a_slice("mine"))

    driver.registration_socket.unlink()

    await eventually(lambda: not cluster.slice_names())


async def test_slices_stay_if_the_driver_is_back_in_time(
    cluster: SmallCluster, driver: Driver
) -> None:
    cluster.timings = replace(FAST, slice_wipe_seconds=3)
    await driver.start()
    await cluster.start()
    await eventually(lambda: driver.registered == [True])
    cluster.add(RESOURCE_SLICES, a_slice("mine"))

    await driver.crash()
    await driver.start()
    await eventually(lambda: driver.registered == [True, True])
    other = a_slice("later", driver="nic.example")
    cluster.add(RESOURCE_SLICES, other)
    lost = Driver(cluster.node_directory, name="nic.example")
    await lost.start()
    await eventually(lambda: lost.registered == [True])
    await lost.stop()

    # When the slice of the driver that was lost last is gone, the others' time was long over.
    await eventually(lambda: cluster.slice_names() == {"mine"})


async def test_a_socket_whose_name_begins_with_a_dot_is_not_looked_at(
    cluster: SmallCluster, driver: Driver
) -> None:
    hidden = Driver(cluster.node_directory, name=f".{DRIVER}")
    await hidden.register()
    await driver.start()
    await cluster.start()
    try:
        await eventually(lambda: driver.registered == [True])
    finally:
        await hidden.stop()

    assert hidden.registered == []
