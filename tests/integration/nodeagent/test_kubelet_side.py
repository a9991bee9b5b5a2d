"""An agent and kubelets of several ages, which restart, lose it, and watch its devices' health."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodeagent.kubelet.proto import health_v1_pb2 as health
from tests.builders.objects import DRIVER
from tests.integration.devclusters import Devcluster, running_devcluster
from tests.integration.nodeagent.kubelet_fake import (
    KUBELET_1_32,
    KUBELET_1_34,
    KUBELET_1_37,
    KUBELET_AFTER_V1BETA1,
    KubeletFake,
)
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, eventually, uid_of

SIX_SECONDS = 6
OTHER_DRIVER = "tpu.example.com"


@pytest.fixture(scope="module")
def shared_devcluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    """An API server alone: the kubelets are those of the tests."""
    with running_devcluster(tmp_path_factory.mktemp("api"), options=("--api-only",)) as cluster:
        yield cluster


@contextmanager
def kubelet_of(
    agent: AgentProcess,
    api_server: ApiServer,
    *,
    known: frozenset[str] = KUBELET_1_37,
    wipe_seconds: float = 30,
) -> Iterator[KubeletFake]:
    kubelet = KubeletFake(
        agent.kubelet_root, agent.node, api_server, known=known, wipe_seconds=wipe_seconds
    )
    kubelet.start()
    try:
        yield kubelet
    finally:
        kubelet.stop()


@pytest.mark.parametrize(
    ("known", "service", "health_service"),
    [
        (KUBELET_1_32, "v1beta1.DRAPlugin", None),
        (KUBELET_1_34, "v1.DRAPlugin", "v1alpha1.DRAResourceHealth"),
        (KUBELET_1_37, "v1.DRAPlugin", "v1.DRAResourceHealth"),
        (KUBELET_AFTER_V1BETA1, "v1.DRAPlugin", "v1.DRAResourceHealth"),
    ],
    ids=["1.32", "1.34", "1.37", "v1-only"],
)
def test_kubelets_of_every_age_find_their_services(
    shared_agent: AgentProcess,
    api_server: ApiServer,
    known: frozenset[str],
    service: str,
    health_service: str | None,
) -> None:
    claim = api_server.allocate(f"of-{len(known)}-{len(service)}", "gpu-3", node=shared_agent.node)
    with kubelet_of(shared_agent, api_server, known=known) as kubelet:
        eventually(kubelet.is_registered)
        (plugin,) = kubelet.plugins()

        assert (plugin.service, plugin.health_service) == (service, health_service)
        assert kubelet.prepare(claim) == {uid_of(claim): ""}
        assert kubelet.unprepare(claim) == {uid_of(claim): ""}
        if health_service is not None:
            assert len(eventually(kubelet.health)) == 8


def test_a_kubelet_without_any_known_service_is_refused_and_hinted_at(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    with kubelet_of(shared_agent, api_server, known=frozenset({"v2.DRAPlugin"})) as kubelet:
        refused = eventually(lambda: kubelet.refused)

    assert "no known version" in refused[0]
    told = eventually(lambda: shared_agent.said("registration refused by kubelet"))
    assert "no known version" in told[0]["reason"]


def test_kubelet_restarts_as_often_as_it_likes_and_finds_all_again(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    agent = shared_agent
    claim = api_server.allocate("through-restarts", "gpu-0", node=agent.node)
    with kubelet_of(agent, api_server) as kubelet:
        eventually(kubelet.is_registered)
        kubelet.prepare(claim)
        for _ in range(2):
            before = eventually(lambda: api_server.has_whole_pool(agent.node))
            kubelet.restart()
            eventually(kubelet.is_registered)
            again = eventually(lambda: api_server.has_whole_pool(agent.node))
            assert {one["metadata"]["uid"] for one in again}.isdisjoint(
                one["metadata"]["uid"] for one in before
            )
            assert [one["spec"]["devices"] for one in again] == [
                one["spec"]["devices"] for one in before
            ]
            assert len(eventually(kubelet.health)) == 8
        kubelet.prepared.clear()

        assert kubelet.prepare(claim) == {uid_of(claim): ""}


def test_slices_of_a_killed_agent_are_wiped_and_come_back_with_it(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    with kubelet_of(agent, api_server, wipe_seconds=0.5) as kubelet:
        eventually(kubelet.is_registered)
        eventually(lambda: api_server.has_whole_pool(agent.node))

        agent.kill()
        assert agent.registration_socket.exists()
        eventually(lambda: not api_server.slices(agent.node))
        agent.start()

        assert eventually(lambda: api_server.has_whole_pool(agent.node))
        eventually(kubelet.is_registered)


def test_two_drivers_on_a_node_do_not_touch_each_other(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    other = AgentProcess(
        agent.node, agent.kubelet_root, agent.kubeconfig, "l4x4", driver=OTHER_DRIVER
    )
    with kubelet_of(agent, api_server, wipe_seconds=0.5) as kubelet:
        other.start()
        try:
            eventually(kubelet.is_registered)
            eventually(lambda: kubelet.is_registered(OTHER_DRIVER))
            eventually(lambda: api_server.has_whole_pool(agent.node, driver=OTHER_DRIVER))
            ours = eventually(lambda: api_server.has_whole_pool(agent.node))
            for driver, devices in ((DRIVER, 8), (OTHER_DRIVER, 4)):
                eventually(lambda: len(kubelet.health(driver)) == devices)  # noqa: B023 - at once
        finally:
            other.kill()

        eventually(lambda: not api_server.slices(agent.node, driver=OTHER_DRIVER))
        assert api_server.slices(agent.node) == ours
        assert kubelet.is_registered()


def test_a_device_that_falls_ill_and_is_well_again_is_told_within_six_seconds(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    faults = agent.checkpoint.with_name("simulated-faults.json")

    def is_told(status: health.HealthStatus.ValueType) -> bool:
        found = kubelet.health().get("gpu-1")
        return found is not None and found.health == status

    with kubelet_of(agent, api_server) as kubelet:
        eventually(lambda: is_told(health.HEALTHY))
        faults.write_text(json.dumps({"lost": ["gpu-1"]}))
        eventually(lambda: is_told(health.UNHEALTHY), seconds=SIX_SECONDS)
        others = {name: one.health for name, one in kubelet.health().items() if name != "gpu-1"}
        assert set(others.values()) == {health.HEALTHY}
        assert kubelet.health()["gpu-1"].device.pool_name == agent.node
        assert kubelet.health()["gpu-1"].message
        faults.write_text(json.dumps({"lost": []}))
        eventually(lambda: is_told(health.HEALTHY))


def test_an_agent_that_cannot_be_seen_any_more_ends_so_that_it_is_started_again(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    eventually(lambda: api_server.has_whole_pool(agent.node))

    agent.registration_socket.unlink()

    assert agent.process.wait(timeout=40) == 1
    (ended,) = agent.said("agent ended")
    assert "kubelet cannot reach this agent" in ended["reason"]
    assert not agent.dra_socket.exists()
    assert api_server.slices(agent.node)
