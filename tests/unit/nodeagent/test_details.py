"""What is looked at less often than readings, and whose processes are found."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nodeagent.devices.details import Details, DeviceProcess
from nodeagent.devices.gpu_process import GpuProcess, ProcessesByDevice
from nodeagent.telemetry.details import PROCESSES_TOLD, DetailsLook
from nodeagent.usage.procfs import Procfs

POD = "0a1b2c3d-0000-4000-8000-00000000000a"
CONTAINER = "c" * 64


@dataclass
class CountedGpus:
    """Three devices whose every look is counted; the last one's processes are not told."""

    listed: tuple[GpuProcess, ...] = ()
    looks: list[str] = field(default_factory=list)

    def details(self) -> tuple[Details, ...]:
        self.looks.append("details")
        others = (Details(device=f"gpu-{minor}") for minor in (1, 2))
        return Details(device="gpu-0", fan_percent=30), *others

    def processes(self) -> ProcessesByDevice:
        self.looks.append("processes")
        return {"gpu-0": self.listed, "gpu-1": (), "gpu-2": None}


def a_process(root: Path, pid: int, cgroup: str) -> None:
    directory = root / str(pid)
    directory.mkdir(parents=True)
    (directory / "stat").write_text(f"{pid} (train) S {' '.join(['0'] * 40)}")
    (directory / "cgroup").write_text(cgroup)


def look_at(gpus: CountedGpus, now: Callable[[], float], root: Path) -> DetailsLook:
    return DetailsLook(gpus, procfs=Procfs(root), monotonic=now)


def test_details_are_looked_at_every_ten_seconds_and_processes_every_thirty(
    tmp_path: Path,
) -> None:
    gpus, seconds = CountedGpus(), [100.0]
    look = look_at(gpus, lambda: seconds[0], tmp_path)

    seen = []
    for second in range(31):
        seconds[0] = 100.0 + second
        seen.append(look.current())

    assert gpus.looks == ["processes", "details", "details", "details", "processes", "details"]
    assert len({id(one) for one in seen}) == 4


def test_a_process_is_told_with_its_pod_and_container_and_one_of_nobody_without(
    tmp_path: Path,
) -> None:
    a_process(tmp_path, 10, f"0::/kubepods/burstable/pod{POD}/{CONTAINER}\n")
    a_process(tmp_path, 11, "0::/system.slice/sshd.service\n")
    listed = (
        GpuProcess(device="gpu-0", pid=11, memory_bytes=500),
        GpuProcess(device="gpu-0", pid=10, memory_bytes=900),
        GpuProcess(device="gpu-0", pid=12),
    )
    details = look_at(CountedGpus(listed), lambda: 0.0, tmp_path).current()

    assert details["gpu-0"].processes == (
        DeviceProcess(pid=10, memory_used_bytes=900, pod_uid=POD, container_id=CONTAINER),
        DeviceProcess(pid=11, memory_used_bytes=500),
        DeviceProcess(pid=12),
    )
    assert details["gpu-0"].fan_percent == 30
    assert (details["gpu-1"].process_count, details["gpu-1"].processes) == (0, ())
    assert (details["gpu-2"].process_count, details["gpu-2"].processes) == (None, None)


def test_of_many_processes_those_with_the_most_memory_are_told_and_all_are_counted(
    tmp_path: Path,
) -> None:
    listed = tuple(GpuProcess(device="gpu-0", pid=pid, memory_bytes=pid) for pid in range(1, 101))
    (details, *_) = look_at(CountedGpus(listed), lambda: 0.0, tmp_path).current().values()

    assert details.process_count == 100
    assert details.processes is not None
    assert [one.pid for one in details.processes] == list(range(100, 100 - PROCESSES_TOLD, -1))
