"""A whole agent: its process, its sockets, its files, and a real API server."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from socket import create_server

import grpc
import pytest

from dra_console.kube.kinds import RESOURCE_SLICES
from tests.builders.objects import DRIVER
from tests.integration.nodeagent.rig import (
    AgentProcess,
    ApiServer,
    KubeletSide,
    eventually,
    uid_of,
)

pytestmark = pytest.mark.long


def test_it_introduces_itself_as_kubelet_expects(shared_agent: AgentProcess) -> None:
    info = KubeletSide(shared_agent).info()

    assert info.type == "DRAPlugin"
    assert info.name == DRIVER
    assert info.endpoint == str(shared_agent.dra_socket)
    assert list(info.supported_versions) == [
        "v1.DRAPlugin",
        "v1beta1.DRAPlugin",
        "v1.DRAResourceHealth",
        "v1alpha1.DRAResourceHealth",
    ]
    for socket in (shared_agent.registration_socket, shared_agent.dra_socket):
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600


def test_a_claim_goes_from_allocated_to_prepared_and_back(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    claim = api_server.allocate("whole-way", "gpu-3", node=shared_agent.node)
    kubelet = KubeletSide(shared_agent)

    answers = kubelet.prepare(claim)

    uid = uid_of(claim)
    assert set(answers) == {uid}
    (device,) = answers[uid].devices
    assert answers[uid].error == ""
    assert (device.pool_name, device.device_name) == (shared_agent.node, "gpu-3")
    assert list(device.request_names) == ["gpu"]
    assert list(device.cdi_device_ids) == [f"k8s.{DRIVER}/claim={uid}-gpu-3"]
    assert not device.HasField("share_id")
    file = shared_agent.cdi_directory / f"k8s.{DRIVER}-claim_{uid}.json"
    spec = json.loads(file.read_text())
    assert [one["name"] for one in spec["devices"]] == [f"{uid}-gpu-3"]

    assert kubelet.unprepare(claim) == {uid: ""}
    assert not file.exists()


def test_both_versions_of_the_service_answer_alike(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    claim = api_server.allocate("both-versions", "gpu-1", node=shared_agent.node)
    kubelet = KubeletSide(shared_agent)
    (expected,) = kubelet.prepare(claim)[uid_of(claim)].devices

    answer = kubelet.prepare_v1beta1(claim)

    (device,) = answer.claims[uid_of(claim)].devices
    assert list(device.cdi_device_ids) == list(expected.cdi_device_ids)


def test_an_error_of_one_claim_leaves_the_others_alone(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    good = api_server.allocate("good", "gpu-2", node=shared_agent.node)
    bad = api_server.allocate("bad", "gpu-77", node=shared_agent.node)

    answers = KubeletSide(shared_agent).prepare(good, bad)

    assert set(answers) == {uid_of(good), uid_of(bad)}
    assert answers[uid_of(good)].error == ""
    assert "gpu-77" in answers[uid_of(bad)].error
    assert uid_of(good) in shared_agent.cdi_files()
    assert uid_of(bad) not in shared_agent.cdi_files()


def test_an_empty_call_is_a_cheap_success(shared_agent: AgentProcess) -> None:
    assert KubeletSide(shared_agent).prepare() == {}
    assert KubeletSide(shared_agent).unprepare() == {}


def test_a_refused_registration_is_answered_with_an_error(shared_agent: AgentProcess) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        KubeletSide(shared_agent).notify(registered=False, error="name clash")

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert shared_agent.said("registration refused by kubelet")[0]["reason"] == "name clash"


def test_slices_that_kubelet_wipes_come_back_at_once(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    slices = eventually(lambda: api_server.has_whole_pool(agent.node))
    for slice_object in slices:
        api_server.client.delete(RESOURCE_SLICES, slice_object["metadata"]["name"])

    again = eventually(lambda: api_server.has_whole_pool(agent.node), seconds=3)

    assert again[0]["spec"]["devices"] == slices[0]["spec"]["devices"]


def test_a_changed_slice_is_put_right_when_kubelet_registers_us(
    shared_agent: AgentProcess, api_server: ApiServer
) -> None:
    (slice_object,) = eventually(lambda: api_server.has_whole_pool(shared_agent.node))
    devices = slice_object["spec"]["devices"]
    slice_object["spec"]["devices"] = devices[:3]
    api_server.client.replace(RESOURCE_SLICES, slice_object)

    def is_right_after_registration() -> bool:
        # Again each time: the first may come before the agent's watch has shown the change.
        KubeletSide(shared_agent).notify(registered=True)
        return [one["spec"]["devices"] for one in api_server.slices(shared_agent.node)] == [devices]

    # Far sooner than the 30 s after which a change is put right anyway.
    assert eventually(is_right_after_registration, seconds=10)


def test_nothing_is_written_when_nothing_changes(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    before = eventually(lambda: api_server.has_whole_pool(agent.node))

    KubeletSide(agent).notify(registered=True)
    time.sleep(1)

    assert api_server.slices(agent.node) == before
    assert len(agent.said("slices published")) == 1


def test_a_node_with_partitions_publishes_counters_and_devices_as_one_pool(
    new_agent: Callable[..., AgentProcess], api_server: ApiServer
) -> None:
    agent = new_agent("a100x2-mig")
    agent.start()

    counters, *devices = sorted(
        eventually(lambda: api_server.has_whole_pool(agent.node)),
        key=lambda slice_object: str(slice_object["metadata"]["name"]),
    )

    assert [one["name"] for one in counters["spec"]["sharedCounters"]] == [
        "gpu-0-counter-set",
        "gpu-1-counter-set",
    ]
    assert [len(one["spec"]["devices"]) for one in devices] == [25, 25]
    assert counters["metadata"]["ownerReferences"][0]["kind"] == "Node"


def test_sigterm_removes_the_sockets_and_leaves_slices_and_cdi_files(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    claim = api_server.allocate("goes-on", "gpu-0", node=agent.node)
    KubeletSide(agent).prepare(claim)
    eventually(lambda: api_server.has_whole_pool(agent.node))

    assert agent.stop() == 0

    assert not agent.registration_socket.exists()
    assert not agent.dra_socket.exists()
    assert agent.cdi_files() == {uid_of(claim)}
    assert api_server.has_whole_pool(agent.node)


def test_a_restart_after_a_kill_serves_on_the_same_paths_with_the_same_claims(
    agent: AgentProcess, api_server: ApiServer
) -> None:
    claim = api_server.allocate("survives", "gpu-0", node=agent.node)
    rival = api_server.allocate("rival", "gpu-0", node=agent.node)
    before = KubeletSide(agent).prepare(claim)
    agent.kill()
    assert agent.registration_socket.exists()

    agent.start()
    agent.wait_until_it_serves()

    assert KubeletSide(agent).prepare(claim) == before
    assert f"({uid_of(claim)})" in KubeletSide(agent).prepare(rival)[uid_of(rival)].error


def test_two_agents_do_not_share_a_node(agent: AgentProcess) -> None:
    second = AgentProcess(agent.node, agent.kubelet_root, agent.kubeconfig)
    second.start()

    time.sleep(2)

    assert second.process.poll() is None
    assert KubeletSide(agent).info().name == DRIVER
    agent.stop()
    second.wait_until_it_serves()
    second.kill()


@pytest.mark.parametrize(
    ("directory", "message"),
    [
        ("x" * 100, "a unix socket takes 107"),
        ("without-registry", "is --kubelet-root right?"),
    ],
    ids=["path-too-long", "no-registry"],
)
def test_what_cannot_work_ends_with_one_line(
    new_agent: Callable[..., AgentProcess], directory: str, message: str
) -> None:
    agent = new_agent()
    agent.options = ("--kubelet-root", str(agent.kubelet_root / directory))

    agent.start()

    assert agent.process.wait(timeout=20) == 1
    (ended,) = agent.said("agent ended")
    assert message in ended["reason"]


@pytest.mark.skipif(os.geteuid() != 0, reason="process numbers of one's own need root")
def test_the_first_process_of_a_container_ends_by_sigterm_while_the_api_server_is_silent(
    tmp_path: Path,
) -> None:
    with create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        written = {
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(written))
        agent = subprocess.Popen(
            [
                *("unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", "nodeagent"),
                *("--node-name=gpu-01", "--simulate", "--profile=l4x4"),
                *(f"--kubelet-root={tmp_path}/kubelet", f"--cdi-dir={tmp_path}/cdi"),
                f"--kubeconfig={tmp_path}/kubeconfig",
            ]
        )
        connection, _ = silent.accept()
        with connection:
            (first,) = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)

            assert agent.wait(timeout=60) == 128 + signal.SIGTERM
