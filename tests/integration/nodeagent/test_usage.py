"""What really uses the devices of a node, by the kernel's own files, nodes and control groups."""

import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from nodeagent.claims.entry import Entry
from nodeagent.devices.errors import NoDriverError
from nodeagent.devices.gpu_process import GpuProcess, ProcessesByDevice
from nodeagent.fields import Json, JsonObject
from nodeagent.kube.errors import NotFoundError, UnreachableError
from nodeagent.usage.accounting import Accounting, UnaccountedUse
from nodeagent.usage.claim_pods import ClaimPods
from nodeagent.usage.containers import Containers
from nodeagent.usage.permission import CGROUPS, group_of, may_open
from nodeagent.usage.procfs import Procfs
from nodeagent.usage.watch import UsageWatch
from tests.builders.agents import a_planned_device, an_entry

POD = "0a1b2c3d-1111-2222-3333-444455556666"
OTHER_POD = "9f9f9f9f-1111-2222-3333-444455556666"
NULL = os.makedev(1, 3)
DEVICES_V1 = CGROUPS / "devices"


@dataclass
class Node:
    """A node's processes, claims and CDI files, which a test writes."""

    directory: Path
    seconds: float = 0.0
    listed: list[GpuProcess] = field(default_factory=list)
    untold: str = ""
    """A device whose processes the driver does not tell."""

    entries: dict[str, Entry] = field(default_factory=dict)
    reserved: dict[str, tuple[str, ...]] = field(default_factory=dict)
    requests: int = 0
    is_reachable: bool = True
    has_driver: bool = True

    def __post_init__(self) -> None:
        self.proc.mkdir()
        pods = ClaimPods(self, monotonic=lambda: self.seconds)
        procfs = Procfs(self.proc)
        self.accounting = Accounting(self, lambda: self.entries, pods, procfs)
        self.containers = Containers(
            lambda: self.entries, self.file_of, pods, procfs, cgroups=self.directory / "cgroup"
        )

    @property
    def proc(self) -> Path:
        return self.directory / "proc"

    def claim(self, namespace: str, name: str) -> JsonObject:
        self.requests += 1
        if not self.is_reachable:
            raise UnreachableError("connection refused")
        uid = name.removeprefix("claim-")
        if uid not in self.reserved:
            raise NotFoundError(404, name)
        pods: list[Json] = [
            {"resource": "pods", "name": "p", "uid": pod} for pod in self.reserved[uid]
        ]
        metadata: JsonObject = {"uid": uid, "namespace": namespace, "name": name}
        return {"metadata": metadata, "status": {"reservedFor": pods}}

    def processes(self) -> ProcessesByDevice:
        if not self.has_driver:
            raise NoDriverError("unloaded")
        return {
            device: None
            if device == self.untold
            else tuple(one for one in self.listed if one.device == device)
            for device in ("gpu-0", "gpu-1")
        }

    def file_of(self, claim_uid: str) -> Path:
        return self.directory / f"{claim_uid}.json"

    def prepare(self, uid: str, device: str, *pods: str, nodes: tuple[str, ...] = ()) -> None:
        self.entries[uid] = an_entry(uid, a_planned_device(device))
        self.reserved[uid] = pods
        listed = ",".join(f'{{"path": "{node}"}}' for node in nodes)
        edits = f'{{"deviceNodes": [{listed}], "env": ["CLAIM={uid}"]}}'
        self.file_of(uid).write_text(f'{{"devices": [{{"containerEdits": {edits}}}]}}')

    def run(  # noqa: PLR0913 - one word for each thing a test may state
        self,
        pid: int,
        pod: str | None,
        *nodes: str,
        name: str = "python",
        started: int = 100,
        container: str = "ab",
        environment: str = "",
        on: str | None = None,
    ) -> None:
        """Let a process run, in a container of a pod or on the host, on a device if given."""
        directory = self.proc / str(pid)
        (directory / "root/dev").mkdir(parents=True, exist_ok=True)
        fields = " ".join(["S", "1", *["0"] * 17, str(started), "0"])
        (directory / "stat").write_text(f"{pid} ({name}) {fields}")
        group = "/system.slice/x.service" if pod is None else f"/kubepods/pod{pod}/{container * 32}"
        (directory / "cgroup").write_text(f"0::{group}\n")
        (directory / "environ").write_bytes(environment.encode() + b"\0")
        for node in nodes:
            os.mknod(directory / "root" / node.lstrip("/"), stat.S_IFCHR | 0o666, NULL)
        if on is not None:
            self.listed.append(GpuProcess(device=on, pid=pid, memory_bytes=1 << 30))

    def unaccounted(self) -> tuple[UnaccountedUse, ...]:
        """Look twice, half a minute apart."""
        self.accounting.look()
        self.seconds += 30
        return self.accounting.look()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_pod_on_the_device_of_its_claim_is_accounted_for_and_costs_one_request(
    node: Node,
) -> None:
    node.prepare("uid-1", "gpu-0", POD)
    node.run(7, POD, on="gpu-0")

    assert node.unaccounted() == ()
    for _ in range(10):
        node.seconds += 30
        node.accounting.look()
    assert node.requests == 1


def test_a_use_stays_and_is_told_once_while_the_driver_does_not_tell_of_its_device(
    node: Node,
) -> None:
    node.run(7, None, on="gpu-0")
    with capture_logs() as logs:
        known = node.unaccounted()
        node.untold = "gpu-0"
        assert node.unaccounted() == known
        node.untold = ""
        assert node.accounting.look() == known

    assert len(known) == len(logs) == 1


def test_whoever_has_no_claim_on_a_device_is_reported_with_the_reason_and_left_alone(
    node: Node,
) -> None:
    node.prepare("uid-1", "gpu-0", POD)
    node.run(7, POD, on="gpu-1")
    node.run(8, None, on="gpu-0", name="python3")
    node.run(9, OTHER_POD, on="gpu-0")
    node.run(10, None, on="gpu-0", name="nvidia-cuda-mps")
    node.seconds = 100

    with capture_logs() as logs:
        found = {use.process.pid: use.reason for use in node.unaccounted()}
        node.accounting.look()

    assert found == {
        7: "a pod whose claims do not hold it",
        8: "a process of the host",
        9: "a pod whose claims do not hold it",
    }
    told = [line for line in logs if line["event"] == "unaccounted use of a device"]
    assert sorted(line["pid"] for line in told) == [7, 8, 9]


def test_an_id_that_came_back_for_another_process_is_not_reported(node: Node) -> None:
    node.run(7, None, on="gpu-0")
    node.accounting.look()
    node.run(7, None, started=200)

    assert node.accounting.look() == ()
    assert [use.process.started for use in node.accounting.look()] == ["200"]


def test_a_process_that_has_ended_is_no_use(node: Node) -> None:
    node.listed.append(GpuProcess(device="gpu-0", pid=4711))

    assert node.unaccounted() == ()


def test_a_second_pod_of_a_claim_is_found_by_asking_again_and_doubt_reports_nobody(
    node: Node,
) -> None:
    node.prepare("uid-1", "gpu-0", POD)
    node.run(7, POD, on="gpu-0")
    node.accounting.look()
    node.reserved["uid-1"] = (POD, OTHER_POD)
    node.run(8, OTHER_POD, on="gpu-0")
    node.seconds += 61
    node.is_reachable = False

    assert node.unaccounted() == ()
    node.is_reachable = True
    node.seconds += 61
    assert node.unaccounted() == ()


def test_without_a_driver_nothing_is_said(node: Node) -> None:
    node.has_driver = False

    UsageWatch(node.accounting, node.containers).turn()


def trouble(node: Node, looks: int = 4) -> list[str]:
    with capture_logs() as logs:
        for _ in range(looks):
            node.seconds += 30
            node.containers.look()
    return [line["event"] for line in logs]


def test_a_runtime_that_injects_nothing_is_named_after_some_looks_and_once(node: Node) -> None:
    node.prepare("uid-1", "gpu-0", POD, nodes=("/dev/nvidia0", "/dev/nvidiactl"))
    node.run(7, POD)

    assert trouble(node, looks=2) == []
    assert trouble(node) == ["runtime ignores CDI: no container of a pod has its claim's devices"]


def test_one_container_with_its_devices_shows_that_the_runtime_does_cdi(node: Node) -> None:
    node.prepare("uid-1", "gpu-0", POD, nodes=("/dev/nvidia0",))
    node.run(6, POD, container="cd")
    node.run(7, POD, "/dev/nvidia0")
    first = trouble(node)
    node.prepare("uid-2", "gpu-1", OTHER_POD, nodes=("/dev/nvidia1",))
    node.run(8, OTHER_POD)

    assert first == ["containers get their devices: the runtime does CDI"]
    assert node.containers.runtime_does_cdi
    assert trouble(node) == []


def test_where_a_claim_gives_no_nodes_its_environment_shows_it(node: Node) -> None:
    node.prepare("uid-1", "gpu-0", POD)
    node.run(7, POD, environment="PATH=/bin\0CLAIM=uid-1")

    assert trouble(node) == ["containers get their devices: the runtime does CDI"]


def test_gpus_that_a_legacy_runtime_adds_are_named_but_not_those_of_a_privileged_pod(
    node: Node,
) -> None:
    node.prepare("uid-1", "gpu-0", POD, OTHER_POD, nodes=("/dev/nvidia0",))
    node.run(7, POD, "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl")
    node.run(8, OTHER_POD, "/dev/nvidia0", "/dev/nvidia1", "/dev/mem", container="cd")

    with capture_logs() as logs:
        node.containers.look()
        node.containers.look()

    (told,) = [one for one in logs if one["log_level"] == "warning"]
    assert told["event"] == "a container has GPUs that its claims do not hold"
    assert told["nodes"] == ("/dev/nvidia1",)
    assert told["pod_uid"] == POD


@pytest.fixture
def denying_group() -> Iterator[Path]:
    """A group of the kernel's device controller in which no node may be opened."""
    group = DEVICES_V1 / f"dra-test-{os.getpid()}"
    group.mkdir()
    (group / "devices.deny").write_text("a")
    yield group
    group.rmdir()


@pytest.mark.skipif(not DEVICES_V1.is_dir(), reason="this kernel has device rules as BPF programs")
def test_a_node_that_systemd_took_from_a_container_is_seen_by_trying(
    denying_group: Path,
) -> None:
    assert may_open(DEVICES_V1, "/dev/null") is True
    assert may_open(denying_group, "/dev/null") is False
    # Missing, or without its driver: that is another trouble.
    assert may_open(DEVICES_V1, "/dev/nvidia-none") is None
    assert may_open(denying_group / "gone", "/dev/null") is None


@pytest.mark.skipif(not DEVICES_V1.is_dir(), reason="this kernel has device rules as BPF programs")
def test_a_pod_that_lost_its_nodes_is_told_to_be_deleted(node: Node, denying_group: Path) -> None:
    gpu = node.directory / "nvidia0"
    os.mknod(gpu, stat.S_IFCHR | 0o666, NULL)
    node.prepare("uid-1", "gpu-0", POD, nodes=(str(gpu),))
    node.run(7, POD)
    inside = node.proc / "7/root" / str(gpu).lstrip("/")
    inside.parent.mkdir(parents=True)
    os.mknod(inside, stat.S_IFCHR | 0o666, NULL)
    group = node.directory / "cgroup/devices/kubepods" / f"pod{POD}" / ("ab" * 32)
    group.parent.mkdir(parents=True)
    (node.proc / "7/cgroup").write_text(f"4:devices:/kubepods/pod{POD}/{'ab' * 32}\n")
    group.symlink_to(DEVICES_V1)
    assert trouble(node) == ["containers get their devices: the runtime does CDI"]

    group.unlink()
    group.symlink_to(denying_group)

    assert trouble(node) == ["a container may not open its devices any more: delete the pod"]


def test_the_group_that_decides_on_devices_is_found_in_both_versions(tmp_path: Path) -> None:
    for directory in ("devices/a", "b"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "cgroup.procs").touch()

    def found(text: str) -> Path | None:
        return group_of(text, mounted=tmp_path)

    assert found("4:memory:/a\n3:devices:/a\n0::/b\n") == tmp_path / "devices/a"
    assert found("0::/b\n") == tmp_path / "b"
    assert found("0::/../b\n") is None
    assert found("0::/gone\n") is None


def test_a_container_cannot_lead_the_try_to_a_node_of_its_own(node: Node) -> None:
    """The path that is opened comes from the claim's file, not from the container's `/dev`."""
    node.prepare("uid-1", "gpu-0", POD, nodes=("/dev/nvidia0",))
    node.run(7, POD)
    fifo = node.directory / "fifo"
    os.mkfifo(fifo)
    (node.proc / "7/root/dev/nvidia0").symlink_to(fifo)

    assert trouble(node, looks=1) == []


def test_a_shell_that_hangs_costs_seconds_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("sh", 5)

    monkeypatch.setattr(subprocess, "run", hang)

    assert may_open(tmp_path, "/dev/null") is None
