"""Two agents of a rolling update on one node: whichever is called, claims and health stay true."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import grpc
import pytest

from nodeagent.kubelet.proto.liveness_pb2 import HealthCheckRequest, HealthCheckResponse
from tests.builders.objects import DRIVER
from tests.integration.devclusters import Devcluster, running_devcluster
from tests.integration.nodeagent.conftest import AgentMaker, agents_of
from tests.integration.nodeagent.kubelet_fake import KubeletFake
from tests.integration.nodeagent.rig import (
    AgentProcess,
    ApiServer,
    KubeletSide,
    eventually,
    uid_of,
)

OLD_POD = "0b1e3a52-6c1c-4d55-9c58-0b7f0a3c9f11"
NEW_POD = "7e1f0f3e-2f43-4d0a-a7a4-b1c3a4f0d9aa"
PARTITION = "gpu-0-mig-1g5gb-19-3"


@pytest.fixture(scope="module")
def shared_devcluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    """An API server alone: the kubelet is the tests' own."""
    with running_devcluster(tmp_path_factory.mktemp("api"), options=("--api-only",)) as cluster:
        yield cluster


def beside(agent: AgentProcess, pod_uid: str, *options: str) -> AgentProcess:
    return AgentProcess(
        agent.node, agent.kubelet_root, agent.kubeconfig, agent.profile, options, pod_uid=pod_uid
    )


@dataclass(slots=True)
class Update:
    """A node in the middle of a rolling update."""

    old: AgentProcess
    new: AgentProcess
    kubelet: KubeletFake


@contextmanager
def update_of(cluster: Devcluster, api_server: ApiServer) -> Iterator[Update]:
    """Have a successor serve beside an agent, on a kubelet that takes two."""
    with agents_of(cluster, api_server) as make:
        old = make("a100x2-mig", "--mig-mode", "dynamic")
        old.pod_uid = OLD_POD
        api_server.make_node(old.node, kubelet="v1.37.2")
        kubelet = KubeletFake(old.kubelet_root, old.node, api_server)
        kubelet.start()
        old.start()
        old.wait_until_it_serves()
        eventually(kubelet.is_registered)
        new = beside(old, NEW_POD, *old.options)
        new.start()
        try:
            new.wait_until_it_serves()
            eventually(lambda: kubelet.is_registered(plugins=2))
            yield Update(old, new, kubelet)
        finally:
            kubelet.stop()
            new.kill()


@pytest.fixture(scope="module")
def update(shared_devcluster: Devcluster, api_server: ApiServer) -> Iterator[Update]:
    """For tests that leave both agents running, with no claim."""
    with update_of(shared_devcluster, api_server) as update:
        yield update


def test_a_claim_prepared_by_one_agent_is_known_to_the_other_and_undone_by_it(
    update: Update, api_server: ApiServer
) -> None:
    old, new, kubelet = update.old, update.new, update.kubelet
    claim = api_server.allocate("rolls", PARTITION, node=old.node)
    rival = api_server.allocate("rival", PARTITION, node=old.node)
    newest, older = kubelet.plugins()
    assert newest.info.endpoint == str(new.dra_socket)
    assert older.info.endpoint == str(old.dra_socket)

    before = KubeletSide(old).prepare(claim)
    assert before[uid_of(claim)].error == ""
    assert KubeletSide(new).prepare(claim) == before
    assert f"({uid_of(claim)})" in KubeletSide(new).prepare(rival)[uid_of(rival)].error
    assert new.partitions() == {PARTITION}

    assert KubeletSide(new).unprepare(claim) == {uid_of(claim): ""}
    assert new.partitions() == set()
    assert KubeletSide(old).prepare(rival)[uid_of(rival)].error == ""
    assert KubeletSide(new).unprepare(rival) == {uid_of(rival): ""}
    assert new.cdi_files() == set()
    assert new.partitions() == set()


def test_calls_to_both_agents_at_once_take_turns(update: Update, api_server: ApiServer) -> None:
    old, new = update.old, update.new
    claims = [
        api_server.allocate(f"turn-{gpu}-{start}", f"gpu-{gpu}-mig-1g5gb-19-{start}", node=old.node)
        for gpu in range(2)
        for start in range(3)
    ]
    uids = {uid_of(claim) for claim in claims}
    sides = [KubeletSide(old), KubeletSide(new)]

    def calls(side: KubeletSide) -> list[str]:
        return [answer.error for answer in side.prepare(*claims).values()]

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(calls, sides))

    assert answers == [[""] * 6, [""] * 6]
    assert set(new.completed()) == uids
    assert new.cdi_files() == uids
    with ThreadPoolExecutor(2) as threads:
        undone = list(threads.map(lambda side: side.unprepare(*claims), sides))
    assert undone == [dict.fromkeys(uids, "")] * 2
    assert new.partitions() == set()


def test_the_old_agents_end_takes_neither_the_new_ones_health_nor_slices(
    shared_devcluster: Devcluster, api_server: ApiServer
) -> None:
    with update_of(shared_devcluster, api_server) as update:
        old, kubelet = update.old, update.kubelet
        devices = eventually(kubelet.health)
        slices = eventually(lambda: api_server.has_whole_pool(old.node))

        assert old.stop() == 0

        assert not old.registration_socket.exists()
        assert not old.dra_socket.exists()
        eventually(lambda: kubelet.is_registered(plugins=1))
        # Kubelet forgot all of it when the old stream ended; far sooner than the next heartbeat.
        assert set(eventually(kubelet.health, seconds=5)) == set(devices)
        assert api_server.slices(old.node) == slices


def test_slices_of_both_agents_are_the_same_so_that_neither_writes_again(
    update: Update, api_server: ApiServer
) -> None:
    old, new = update.old, update.new
    before = eventually(lambda: api_server.has_whole_pool(old.node))

    for agent in (old, new, old, new):
        KubeletSide(agent).notify(registered=True)
        time.sleep(0.5)

    assert api_server.slices(old.node) == before


def test_a_kubelet_that_takes_one_agent_only_gets_plain_names(
    new_agent: AgentMaker, api_server: ApiServer
) -> None:
    agent = new_agent()
    api_server.make_node(agent.node, kubelet="v1.32.9+rke2r1")
    agent.options = ("--pod-uid", NEW_POD)
    agent.start()

    agent.wait_until_it_serves()

    assert agent.registration_socket.name == f"{DRIVER}-reg.sock"
    assert KubeletSide(agent).info().endpoint == str(agent.dra_socket)
    assert agent.said("kubelet takes no rolling updates")[0]["version"] == "v1.32.9+rke2r1"


def test_the_probe_asks_the_sockets_that_the_agent_really_has_and_a_sick_kubelet_is_told_of(
    new_agent: AgentMaker, api_server: ApiServer
) -> None:
    agent = new_agent("h100x8", "--health-port", "0")
    agent.pod_uid = NEW_POD
    api_server.make_node(agent.node, kubelet="v1.34.1")
    agent.start()
    agent.wait_until_it_serves()
    (bound,) = eventually(lambda: agent.said("liveness service bound"))

    assert probe(bound["port"], "") == HealthCheckResponse.SERVING
    assert probe(bound["port"], "liveness") == HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as refused:
        probe(bound["port"], "another")
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    (told,) = eventually(lambda: agent.said("kubelet stops calling plugins: upgrade it"))
    assert told["version"] == "v1.34.1"
    events = eventually(lambda: api_server.events_about(agent.node))
    assert "KubeletDeadlocksWhenIdle" in {event["reason"] for event in events}


def test_an_update_waits_until_kubelet_has_registered_the_new_agent(new_agent: AgentMaker) -> None:
    agent = new_agent("h100x8", "--health-port", "0")
    agent.start()
    agent.wait_until_it_serves()
    (bound,) = eventually(lambda: agent.said("liveness service bound"))
    assert probe(bound["port"], "readiness") == HealthCheckResponse.NOT_SERVING

    KubeletSide(agent).notify(registered=True)

    assert probe(bound["port"], "readiness") == HealthCheckResponse.SERVING


def probe(port: int, service: str) -> HealthCheckResponse.ServingStatus.ValueType:
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        call = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        answer: HealthCheckResponse = call(HealthCheckRequest(service=service), timeout=10)
        return answer.status
