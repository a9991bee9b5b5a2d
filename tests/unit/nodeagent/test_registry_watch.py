"""What the agent makes of kubelet's registry: its own files, its peers, its registration."""

import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import grpc
import pytest
import structlog
from structlog.testing import capture_logs

from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.proto.registration_pb2 import RegistrationStatus
from nodeagent.kubelet.registration import REGISTERED, Registration
from nodeagent.kubelet.server import Servers
from nodeagent.kubelet.sockets import SocketPaths
from nodeagent.kubelet.version import KubeletVersion
from nodeagent.kubelet.watch import HINT_SECONDS, HINTS, REPEATS, RegistryWatch

DRIVER = "gpu.nvidia.com"


@dataclass(slots=True)
class Bench:
    """A registry, servers that are well, and a clock that stands still."""

    paths: SocketPaths
    seconds: float = 0.0
    repeats: int = 0
    watch: RegistryWatch = field(init=False)
    registration: Registration = field(init=False)

    def __post_init__(self) -> None:
        self.registration = Registration(
            DRIVER, endpoint=str(self.paths.dra), on_registered=lambda: None
        )
        servers = Servers(self.paths, self.registration.handler(), ())
        self.watch = RegistryWatch(
            servers, self.registration, on_peers=self.repeat, monotonic=lambda: self.seconds
        )

    def repeat(self) -> None:
        self.repeats += 1

    def look(self, times: int = 1) -> int:
        """Look so often and return how often health was repeated."""
        before = self.repeats
        for _ in range(times):
            self.watch.look()
        return self.repeats - before

    def notify(self, *, registered: bool) -> None:
        status = RegistrationStatus(plugin_registered=registered, error="clash")
        self.registration._notify(status, cast("grpc.ServicerContext", Context()))


class Context:
    """A call that can be aborted."""

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise RuntimeError(code, details)


@pytest.fixture
def bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="rw") as root:
        for folder in ("registry", "plugin"):
            (Path(root) / folder).mkdir()
        yield Bench(
            SocketPaths.under(
                registry_directory=Path(root) / "registry",
                plugin_directory=Path(root) / "plugin",
                driver=DRIVER,
            )
        )


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def test_health_is_repeated_for_some_looks_when_a_peer_comes_and_when_it_goes(
    bench: Bench,
) -> None:
    peer = bench.paths.registration.with_name(f"{DRIVER}-pod-reg.sock")
    a_socket(bench.paths.registration)
    # A predecessor may have gone before the first look.
    assert bench.look(10) == REPEATS

    a_socket(peer)
    assert bench.look(10) == REPEATS
    peer.unlink()
    assert bench.look(10) == REPEATS
    assert bench.look(10) == 0


def test_files_that_are_no_sockets_are_no_peers(bench: Bench) -> None:
    bench.look(10)

    bench.paths.registration.with_name("notes.txt").write_text("")

    assert bench.look(10) == 0


def test_while_kubelet_has_not_registered_the_agent_hints_come_once_a_minute(
    bench: Bench,
) -> None:
    def hints() -> list[structlog.typing.EventDict]:
        with capture_logs() as logs:
            bench.look()
        return [line for line in logs if line["event"] == "not registered with kubelet"]

    bench.seconds = HINT_SECONDS - 1
    assert hints() == []
    bench.seconds = HINT_SECONDS
    (told,) = hints()
    assert told["ask"] == HINTS
    assert hints() == []
    bench.seconds = 2 * HINT_SECONDS
    assert len(hints()) == 1

    bench.notify(registered=True)
    bench.seconds = 3 * HINT_SECONDS
    assert hints() == []


def test_kubelets_last_word_on_the_registration_is_counted_and_a_refusal_answered_with_an_error(
    bench: Bench,
) -> None:
    bench.notify(registered=True)
    assert bench.registration.is_registered.is_set()
    assert REGISTERED._value.get() == 1

    with pytest.raises(RuntimeError, match="clash"):
        bench.notify(registered=False)

    assert not bench.registration.is_registered.is_set()
    assert REGISTERED._value.get() == 0


@pytest.mark.parametrize("which", ["registration", "dra"])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_socket_that_was_taken_away_or_replaced_is_found(
    bench: Bench, which: str, *, is_replaced: bool
) -> None:
    servers = bench.watch.servers
    servers.start()
    bench.look()
    path: Path = getattr(bench.paths, which)
    path.rename(path.with_suffix(".kept"))
    if is_replaced:
        a_socket(path)

    with pytest.raises(KubeletError, match=f"{path} is not ours any more"):
        bench.look()

    servers.stop()


def test_a_server_that_has_ended_by_itself_is_found(bench: Bench) -> None:
    servers = bench.watch.servers
    servers.start()
    (server, *_) = servers._running.values()
    server.stop(None).wait()

    with pytest.raises(KubeletError, match="kubelet cannot reach this agent"):
        bench.look()

    servers.stop()


def test_an_agent_that_stops_does_not_take_its_own_end_for_a_fault(bench: Bench) -> None:
    bench.watch.servers.start()
    bench.watch.stop()
    bench.paths.registration.unlink()

    bench.look()

    bench.watch.servers.stop()


@pytest.mark.parametrize(
    ("text", "number", "takes_rolling_updates", "deadlocks"),
    [
        ("v1.32.9", (1, 32, 9), False, False),
        ("v1.33.0", (1, 33, 0), True, False),
        ("v1.34.0", (1, 34, 0), True, True),
        ("v1.34.1-gke.1829001", (1, 34, 1), True, True),
        ("v1.34.1+k3s1", (1, 34, 1), True, True),
        ("v1.34.2", (1, 34, 2), True, False),
        ("v1.34.10", (1, 34, 10), True, False),
        ("v1.37.0-alpha.1", (1, 37, 0), True, False),
        ("v2.0.0", (2, 0, 0), True, False),
        ("1.34", (1, 34, 0), True, True),
        ("", None, False, False),
        ("unknown", None, False, False),
    ],
)
def test_what_a_kubelet_can_do_is_read_from_its_version_however_providers_spell_it(
    text: str, number: tuple[int, int, int] | None, *, takes_rolling_updates: bool, deadlocks: bool
) -> None:
    version = KubeletVersion.of({"status": {"nodeInfo": {"kubeletVersion": text}}})

    assert version == KubeletVersion(text, number)
    assert version.takes_rolling_updates == takes_rolling_updates
    assert version.deadlocks_when_idle == deadlocks


def test_a_node_whose_kubelet_has_not_reported_yet_has_no_version() -> None:
    assert KubeletVersion.of({"status": {}}) == KubeletVersion("", None)
    assert KubeletVersion.of({}) == KubeletVersion("", None)
