"""NVIDIA's multi-process service: one control daemon for one claim's group of devices.

Everything about a daemon lies below one directory, named after the claim, so that a claim can be
undone whose plan is lost. Clients meet the daemon in its pipe directory, and both share memory in
a tmpfs of the claim's own: the daemon sees it as `/dev/shm` through a mount namespace of its own,
the container through a bind mount (node-agent.md 2.4).

The daemon must outlive the agent, whose container is replaced while pods run: it is moved to a
control group outside that container.
"""

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.spec import ContainerEdits, Mount
from nodeagent.claims.errors import MpsError
from nodeagent.claims.processes import kill, processes_with
from nodeagent.claims.sharing import Mps
from nodeagent.claims.tmpfs import mount_tmpfs, unmount

log = structlog.get_logger()

READY_SECONDS: Final = 10
COMMAND_SECONDS: Final = 5
QUIT_SECONDS: Final = 2
"""How long the daemon may wait for clients; their containers ended before."""

POLL_SECONDS: Final = 0.05
DIRECTORY_MODE: Final = 0o755
OUTPUT_CHARACTERS: Final = 300
ID_DIGITS: Final = 5

PIPE_VARIABLE: Final = "CUDA_MPS_PIPE_DIRECTORY"
PIPE_IN_CONTAINER: Final = "/tmp/nvidia-mps"  # noqa: S108 - CUDA's own place for it
SHM_IN_CONTAINER: Final = "/dev/shm"  # noqa: S108 - where CUDA expects shared memory
MOUNT_OPTIONS: Final = ("rw", "nosuid", "nodev", "bind")

IN_OWN_NAMESPACE: Final = (
    "unshare", "--mount", "--propagation", "private", "sh", "-ec",
    'mount --bind "$1/shm" "$2/dev/shm"; mount --rbind "$1" "$2$1"; shift 2; exec "$@"', "mps",
)  # fmt: skip
"""Runs a command whose `/dev/shm` is the claim's; nobody else sees the difference. The claim's
directory is bound into the driver's root, too, which the agent's container has read-only.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MpsDaemons:
    """The daemons of one node's claims."""

    directory: Path
    """Ours alone, under the same path for the container runtime."""

    executable: str = "nvidia-cuda-mps-control"
    root: Path = Path("/")
    """The root directory in which the executable and the driver's libraries are."""

    cgroup: Path | None = None
    """A control group (v2) for daemons; `None`: they stay in the agent's own, and end with it."""

    def start(self, mps_id: str, gpu_uuids: Sequence[str], settings: Mps) -> None:
        """Have a daemon run with these settings; one that runs has them already.

        Raises:
            MpsError: it did not start, did not answer in time or refused a setting.
            OSError: a directory, a mount or a process was refused.

        """
        if self.is_alive(mps_id):
            return
        place = self.directory / mps_id
        self._make_directories(place)
        self._launch(place, gpu_uuids)
        try:
            self._wait_until_ready(mps_id)
            for command in commands_for(settings, gpu_uuids):
                self._send(place, command)
        except (MpsError, OSError):
            # Without its settings nobody must find it alive.
            self.stop(mps_id)
            raise

    def is_alive(self, mps_id: str) -> bool:
        """Tell whether the daemon answers."""
        place = self.directory / mps_id
        if not (place / "pipe").is_dir():
            return False
        try:
            self._send(place, "get_default_active_thread_percentage")
        except (MpsError, OSError):
            return False
        return True

    def stop(self, mps_id: str) -> None:
        """End a daemon and remove what is left of it; none being there is fine.

        Raises:
            OSError: a mount or a directory cannot be removed.

        """
        place = self.directory / mps_id
        if not place.exists():
            return
        if self.is_alive(mps_id):
            try:
                self._send(place, f"quit -t {QUIT_SECONDS}")
            except (MpsError, OSError) as error:
                log.warning("mps daemon did not quit", mps=mps_id, reason=str(error))
        # Its servers, too, carry the pipe directory in their environment.
        kill(self._processes(place), within_seconds=QUIT_SECONDS)
        unmount(place / "shm")
        shutil.rmtree(place)
        log.info("mps daemon ended", mps=mps_id)

    def ids(self) -> tuple[str, ...]:
        """List the daemons that have a directory, alive or not."""
        if not self.directory.is_dir():
            return ()
        return tuple(sorted(path.name for path in self.directory.iterdir() if path.is_dir()))

    def ids_of(self, claim_uid: str) -> tuple[str, ...]:
        """List a claim's daemons, without knowing its devices."""
        return tuple(mps_id for mps_id in self.ids() if claim_uid_of(mps_id) == claim_uid)

    def edits(self, mps_id: str) -> ContainerEdits:
        """Return what a client's container needs."""
        place = self.directory / mps_id
        return ContainerEdits(
            env=(f"{PIPE_VARIABLE}={PIPE_IN_CONTAINER}",),
            mounts=(
                Mount(str(place / "pipe"), PIPE_IN_CONTAINER, MOUNT_OPTIONS),
                Mount(str(place / "shm"), SHM_IN_CONTAINER, MOUNT_OPTIONS),
            ),
        )

    def _make_directories(self, place: Path) -> None:
        for name in ("pipe", "shm", "log"):
            (place / name).mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        mount_tmpfs(place / "shm")

    def _launch(self, place: Path, gpu_uuids: Sequence[str]) -> None:
        environment = {**self._environment(place), "CUDA_VISIBLE_DEVICES": ",".join(gpu_uuids)}
        command = (*IN_OWN_NAMESPACE, str(place), self._root, *self._program(), "-d")
        self._run(command, environment=environment, seconds=READY_SECONDS)
        self._move_out(place)

    def _move_out(self, place: Path) -> None:
        if self.cgroup is None:
            return
        try:
            self.cgroup.mkdir(parents=True, exist_ok=True)
            for process in self._processes(place):
                (self.cgroup / "cgroup.procs").write_text(f"{process}\n")
        except OSError as error:
            log.warning("mps daemon ends with the agent's container", reason=str(error))

    def _wait_until_ready(self, mps_id: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_alive(mps_id):
            if time.monotonic() >= deadline:
                raise MpsError(f"the MPS daemon {mps_id} did not answer within {READY_SECONDS} s")
            time.sleep(POLL_SECONDS)

    def _send(self, place: Path, command: str) -> None:
        self._run(
            self._program(),
            environment=self._environment(place),
            seconds=COMMAND_SECONDS,
            given=f"{command}\n",
        )

    def _run(
        self,
        command: Sequence[str],
        *,
        environment: dict[str, str],
        seconds: float,
        given: str = "",
    ) -> None:
        # A file, not a pipe: a daemon that keeps its standard output would keep us waiting.
        with tempfile.TemporaryFile("w+") as output:
            try:
                finished = subprocess.run(
                    command,
                    input=given,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=seconds,
                    check=False,
                    env=environment,
                )
            except subprocess.TimeoutExpired:
                raise MpsError(f"{command[-1]}: no answer within {seconds:.0f} s") from None
            output.seek(0)
            said = output.read(OUTPUT_CHARACTERS).strip()
        if finished.returncode != 0:
            asked = given.strip() or "start"
            raise MpsError(f"MPS control, {asked}: status {finished.returncode}: {said}")

    def _program(self) -> tuple[str, ...]:
        if self._root == "":
            return (self.executable,)
        return ("chroot", self._root, self.executable)

    @property
    def _root(self) -> str:
        return "" if self.root == Path("/") else str(self.root)

    def _environment(self, place: Path) -> dict[str, str]:
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin",
            PIPE_VARIABLE: str(place / "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(place / "log"),
        }

    def _processes(self, place: Path) -> Iterator[int]:
        return processes_with(PIPE_VARIABLE, str(place / "pipe"))


def mps_id_of(claim_uid: str, device_uuids: Sequence[str]) -> str:
    """Name the daemon of a claim and a set of devices."""
    digest = hashlib.sha256(",".join(sorted(device_uuids)).encode()).hexdigest()
    return f"{claim_uid}-{digest[:ID_DIGITS]}"


def claim_uid_of(mps_id: str) -> str:
    """Return whose daemon it is."""
    return mps_id[: -ID_DIGITS - 1]


def commands_for(settings: Mps, device_uuids: Sequence[str]) -> Iterator[str]:
    """Spell a daemon's settings as its control program takes them."""
    if settings.active_thread_percentage is not None:
        yield f"set_default_active_thread_percentage {settings.active_thread_percentage}"
    by_device = settings.pinned_memory_mebibytes_by_device
    for index, uuid in enumerate(device_uuids):
        general = settings.pinned_memory_mebibytes
        limit = by_device.get(uuid, by_device.get(str(index), general))
        if limit is not None:
            yield f"set_default_device_pinned_mem_limit {uuid} {limit}M"
