"""A kubelet that is killed and comes back loses no claim and stops no pod."""

import asyncio

from dra_console.devcluster.kubelet_checkpoint import Checkpoint
from dra_console.kube.kinds import PODS
from tests.builders.objects import NAMESPACE
from tests.integration.devcluster.drivers import Driver
from tests.integration.devcluster.nodes import SmallCluster, eventually, status_of


async def running(cluster: SmallCluster, driver: Driver) -> str:
    """Bring pod `a` with claim `g` to run; return the claim's uid."""
    await driver.start()
    await cluster.start()
    uid = cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: cluster.phase("a") == "Running")
    return uid


async def test_a_running_pod_goes_on_and_its_driver_is_not_called_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    await running(cluster, driver)
    before = status_of(cluster.pod("a"))["containerStatuses"]

    await cluster.stop()
    await cluster.start()
    await eventually(lambda: len(driver.registered) == 2)
    cluster.add_pod("b", claim="g")
    await eventually(lambda: cluster.phase("b") == "Running")

    assert status_of(cluster.pod("a"))["containerStatuses"] == before
    # Once for `a` before the restart, once for `b` after it: "prepared" is not on disk.
    assert driver.prepare_calls == [("g",), ("g",)]


async def test_a_pod_that_went_meanwhile_has_its_claim_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    uid = await running(cluster, driver)
    await cluster.stop()
    cluster.store.delete(PODS, NAMESPACE, "a", grace_period_seconds=0)

    await cluster.start()

    await eventually(lambda: driver.unprepare_calls == [("g",)])
    assert not driver.cdi_file(uid).exists()


async def test_a_deletion_that_was_asked_for_meanwhile_is_done(
    cluster: SmallCluster, driver: Driver
) -> None:
    await running(cluster, driver)
    await cluster.stop()
    cluster.store.delete(PODS, NAMESPACE, "a")
    assert cluster.has_pod("a")

    await cluster.start()

    await eventually(lambda: not cluster.has_pod("a"))
    assert driver.unprepare_calls == [("g",)]


async def test_a_prepare_that_was_cut_off_is_taken_back(
    cluster: SmallCluster, driver: Driver
) -> None:
    driver.answer_seconds = 60
    await driver.start()
    await cluster.start()
    cluster.add_allocated_claim("g")
    cluster.add_pod("a", claim="g")
    await eventually(lambda: driver.prepare_calls)
    await cluster.stop()
    driver.answer_seconds = 0
    cluster.store.delete(PODS, NAMESPACE, "a", grace_period_seconds=0)

    await cluster.start()

    await eventually(lambda: driver.unprepare_calls == [("g",)])


async def test_a_pod_whose_claim_the_checkpoint_lost_is_prepared_again(
    cluster: SmallCluster, driver: Driver
) -> None:
    await running(cluster, driver)
    await cluster.stop()
    checkpoint = Checkpoint(cluster.node_directory / "dra_manager_state")
    assert len(checkpoint.load()) == 1
    checkpoint.path.unlink()

    await cluster.start()

    await eventually(lambda: len(checkpoint.load()) == 1)
    assert cluster.phase("a") == "Running"


async def test_a_kubelet_ends_although_drivers_and_pods_wake_each_other(
    cluster: SmallCluster, driver: Driver
) -> None:
    await running(cluster, driver)
    for number in range(20):
        cluster.add_pod(f"more-{number}", claim="g")
    await eventually(lambda: cluster.phase("more-19") == "Running")

    await asyncio.wait_for(cluster.stop(), 10)
