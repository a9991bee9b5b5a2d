"""The two sockets in one process: order, left-overs, and who waits for whom."""

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from dra_console.devcluster.proto import dra_v1_pb2 as dra
from dra_console.devcluster.proto import pluginregistration_pb2 as registration
from nodeagent.fields import JsonObject
from nodeagent.kube.resources import Listed
from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.liveness import Liveness
from nodeagent.kubelet.plugin import Plugin
from nodeagent.kubelet.registration import Registration
from nodeagent.kubelet.server import Servers
from nodeagent.kubelet.sockets import SocketPaths
from tests.builders.agents import AgentNode, Claims, a_claim_of_pod, reference_to

DRIVER = "gpu.nvidia.com"
PREPARE = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"


@dataclass(slots=True)
class SlowClaims(Claims):
    """An API server that answers when it is let."""

    may_answer: threading.Event = field(default_factory=threading.Event)

    def claim(self, namespace: str, name: str) -> JsonObject:
        self.may_answer.wait(30)
        return Claims.claim(self, namespace, name)

    def claims(self) -> Listed:
        return Claims.claims(self)


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sv") as root:
        for folder in ("registry", "plugin", "node"):
            (Path(root) / folder).mkdir()
        yield Path(root)


@pytest.fixture
def node(root: Path) -> AgentNode:
    return AgentNode(root / "node", claims=SlowClaims())


@pytest.fixture
def servers(root: Path, node: AgentNode) -> Iterator[Servers]:
    paths = SocketPaths.under(
        registry_directory=root / "registry", plugin_directory=root / "plugin", driver=DRIVER
    )
    introduction = Registration(DRIVER, str(paths.dra), on_registered=lambda: None)
    servers = Servers(paths, introduction.handler(), Plugin(node.preparer).handlers())
    yield servers
    servers.stop()


def get_info(servers: Servers) -> registration.PluginInfo:
    with grpc.insecure_channel(f"unix:{servers.paths.registration}") as channel:
        call = channel.unary_unary(
            "/pluginregistration.Registration/GetInfo",
            request_serializer=registration.InfoRequest.SerializeToString,
            response_deserializer=registration.PluginInfo.FromString,
        )
        info: registration.PluginInfo = call(registration.InfoRequest(), timeout=1)
        return info


def prepare(servers: Servers, claim: JsonObject) -> dra.NodePrepareResourcesResponse:
    reference = reference_to(claim)
    request = dra.NodePrepareResourcesRequest(
        claims=[dra.Claim(namespace=reference.namespace, name=reference.name, uid=reference.uid)]
    )
    with grpc.insecure_channel(f"unix:{servers.paths.dra}") as channel:
        call = channel.unary_unary(
            PREPARE,
            request_serializer=dra.NodePrepareResourcesRequest.SerializeToString,
            response_deserializer=dra.NodePrepareResourcesResponse.FromString,
        )
        answer: dra.NodePrepareResourcesResponse = call(request, timeout=30)
        return answer


def test_get_info_answers_while_every_other_call_hangs(servers: Servers, node: AgentNode) -> None:
    claim = a_claim_of_pod()
    node.claims.put(claim)
    servers.start()
    with ThreadPoolExecutor(20) as callers:
        calls = [callers.submit(prepare, servers, claim) for _ in range(20)]
        time.sleep(0.3)

        for _ in range(5):
            assert get_info(servers).name == DRIVER

        assert isinstance(node.claims, SlowClaims)
        node.claims.may_answer.set()
        answers = [call.result() for call in calls]

    uid = reference_to(claim).uid
    assert {answer.claims[uid].error for answer in answers} == {""}


def test_a_running_call_may_finish_when_the_agent_is_told_to_stop(
    servers: Servers, node: AgentNode
) -> None:
    claim = a_claim_of_pod()
    node.claims.put(claim)
    servers.start()
    with ThreadPoolExecutor(2) as threads:
        call = threads.submit(prepare, servers, claim)
        time.sleep(0.3)
        stopping = threads.submit(servers.stop)
        time.sleep(0.3)
        assert not servers.paths.registration.exists()

        assert isinstance(node.claims, SlowClaims)
        node.claims.may_answer.set()

        assert call.result().claims[reference_to(claim).uid].error == ""
        stopping.result()
    assert not servers.paths.dra.exists()


def test_a_socket_that_a_killed_run_left_is_replaced(servers: Servers) -> None:
    for path in (servers.paths.registration, servers.paths.dra):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(path))
        left.close()

    servers.start()

    assert get_info(servers).endpoint == str(servers.paths.dra)


def test_a_file_that_is_no_socket_is_not_removed(servers: Servers) -> None:
    servers.paths.registration.write_text("precious")

    with pytest.raises(KubeletError, match="in the way and no socket"):
        servers.start()

    assert servers.paths.registration.read_text() == "precious"
    assert not servers.paths.dra.exists()


@pytest.mark.parametrize(
    "authority", ["localhost", "{socket}", "unix%3A{socket}", "[::1%25eth0]:9"]
)
def test_whatever_name_of_a_host_kubelet_sends_it_is_answered(
    servers: Servers, authority: str
) -> None:
    servers.start()
    path = servers.paths.registration
    socket_name = authority.format(socket=path)

    body = raw_http2_call(path, "/pluginregistration.Registration/GetInfo", authority=socket_name)

    # One message, uncompressed: a flag and a length go before it.
    length = int.from_bytes(body[1:5], "big")
    assert body[0] == 0
    assert registration.PluginInfo.FromString(body[5 : 5 + length]).name == DRIVER


def raw_http2_call(path: Path, method: str, *, authority: str) -> bytes:
    """Make one call with an empty message by frames of our own, and return the answer's data.

    Old kubelets send the socket's path as `:authority`, which no client library of ours does.
    """

    def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
        return (
            len(payload).to_bytes(3, "big")
            + bytes([kind, flags])
            + stream.to_bytes(4, "big")
            + payload
        )

    def literal(name: str, value: str) -> bytes:
        # Neither indexed nor Huffman coded, each length below 127.
        return b"\x00" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))

    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
    }
    settings, headers_frame, data = 4, 1, 0
    end_stream, end_headers, acknowledged = 1, 4, 1
    block = b"".join(literal(name, value) for name, value in headers.items())
    answered = b""
    with socket.socket(socket.AF_UNIX) as kubelet:
        kubelet.settimeout(10)
        kubelet.connect(str(path))
        kubelet.sendall(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + frame(settings, 0, 0)
            + frame(headers_frame, end_headers, 1, block)
            + frame(data, end_stream, 1, bytes(5))
        )
        with kubelet.makefile("rb") as frames:
            while True:
                head = frames.read(9)
                assert len(head) == 9, "the connection was closed"
                payload = frames.read(int.from_bytes(head[:3], "big"))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                if kind == settings and not flags & acknowledged:
                    kubelet.sendall(frame(settings, acknowledged, 0))
                if stream == 1 and kind == data:
                    answered += payload
                if stream == 1 and flags & end_stream and kind in (data, headers_frame):
                    return answered
                assert not (stream == 1 and kind == 3), "the stream was reset"


def test_a_probe_finds_both_sockets_dead_or_alive(servers: Servers) -> None:
    liveness = Liveness(servers.paths, port=-1)
    assert liveness.check() is not None
    servers.start()

    assert liveness.check() is None

    servers.paths.dra.unlink()
    assert "UNAVAILABLE" in str(liveness.check())


def test_a_probe_does_not_take_another_agents_socket_for_its_own(
    servers: Servers, root: Path
) -> None:
    servers.start()
    other = SocketPaths(servers.paths.registration, root / "plugin" / "dra-other.sock")

    assert Liveness(other, port=-1).check() == f"{servers.paths.registration} is another agent's"


def test_two_agents_do_not_answer_each_others_probes_on_one_port(servers: Servers) -> None:
    first = Liveness(servers.paths, port=0)
    first.start()
    second = Liveness(servers.paths, port=first.port)

    with pytest.raises(KubeletError, match=f"--health-port {first.port}"):
        second.start()

    first.stop()


def test_a_probe_is_answered_while_every_claim_waits_for_another(
    servers: Servers, node: AgentNode
) -> None:
    claim = a_claim_of_pod()
    node.claims.put(claim)
    servers.start()
    assert isinstance(node.claims, SlowClaims)
    with ThreadPoolExecutor(8) as callers, node.preparer.ledger.held():
        calls = [callers.submit(prepare, servers, claim) for _ in range(8)]
        time.sleep(0.3)

        assert Liveness(servers.paths, port=-1).check() is None

        node.claims.may_answer.set()
    assert {call.result().claims[reference_to(claim).uid].error for call in calls} == {""}


@pytest.mark.parametrize("directory", ["registry", "plugin"])
def test_a_path_of_107_bytes_fits_and_of_108_does_not(root: Path, directory: str) -> None:
    name = {"registry": f"{DRIVER}-reg.sock", "plugin": "dra.sock"}[directory]
    others = {"registry": root / "registry", "plugin": root / "plugin"}
    room = 107 - len(bytes(root)) - len(name) - 2

    def paths(length: int) -> SocketPaths:
        folders = {**others, directory: root / ("x" * length)}
        return SocketPaths.under(
            registry_directory=folders["registry"],
            plugin_directory=folders["plugin"],
            driver=DRIVER,
        )

    paths(room)
    with pytest.raises(KubeletError, match="has 108 bytes, a unix socket takes 107"):
        paths(room + 1)
