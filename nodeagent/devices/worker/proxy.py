"""The GPUs of this machine, for the rest of the agent, which never waits longer than stated.

`DEADLINES` are what each call can cost its caller. A worker that has owed an answer for
`SILENCE_SECONDS` without a sign of life is ended, and the next call starts another one. The time
that a worker needs to begin is not the driver's, and does not count.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec
import structlog

from nodeagent.devices import driver_library, driver_programs
from nodeagent.devices.control import Instance
from nodeagent.devices.details import Details
from nodeagent.devices.errors import (
    DevicesError,
    DriverChangedError,
    DriverTimeoutError,
    NoDriverError,
)
from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.gpu_process import ProcessesByDevice
from nodeagent.devices.model import Gpu, Reading, Source
from nodeagent.devices.nodes import missing_nodes
from nodeagent.devices.settings import Settings
from nodeagent.devices.worker.messages import Told
from nodeagent.devices.worker.metrics import (
    CALL_ERRORS,
    CALL_SECONDS,
    EVENTS,
    WORKERS_SILENT,
    WORKERS_STARTED,
)
from nodeagent.devices.worker.process import WorkerProcess
from nodeagent.devices.worker.refusals import refusal

log = structlog.get_logger()
Result = TypeVar("Result")

DEADLINES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "discover": 15.0,
        "read": 5.0,
        "details": 5.0,
        "vitals": 2.0,
        "processes": 5.0,
        "instances": 10.0,
        "create_partition": 15.0,
        "destroy_partition": 15.0,
        "set_mig_mode": 15.0,
        "set_compute_mode": 10.0,
    }
)
"""Seconds. Creating a partition takes about one, and kubelet gives a whole prepare 45."""

SILENCE_SECONDS: Final = 30.0
EVENTS_KEPT: Final = 1000
"""A storm of events says nothing new after so many."""


@dataclass(slots=True)
class WorkerGpus:
    """The real GPUs. Implements `GpuReader` and `GpuControl`; safe between threads."""

    settings: Settings = field(default_factory=Settings)
    deadlines: Mapping[str, float] = field(default_factory=lambda: DEADLINES)
    silence_seconds: float = SILENCE_SECONDS
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the worker gets beside this process's own."""

    source: Source = field(default=Source.NVML, init=False)
    _worker: WorkerProcess | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _events: deque[DriverEvent] = field(
        default_factory=lambda: deque(maxlen=EVENTS_KEPT), init=False
    )
    _vitals: tuple[Vitals, ...] = field(default=(), init=False)
    _vitals_at: float = field(default=0.0, init=False)
    _library: Path | None = field(default=None, init=False)
    """Where the library was when it was loaded; `None` if only the loader knows."""

    _without_nodes: frozenset[int] = field(default=frozenset(), init=False)

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker, while one runs: whoever measures this agent counts it."""
        worker = self._worker
        return worker.pid if worker is not None else None

    def discover(self) -> tuple[Gpu, ...]:
        self._let_go_of_a_driver_that_goes()
        gpus = self._look("discover", result=tuple[Gpu, ...])
        self._library = driver_library.find(self.settings.driver_root)
        if not self.settings.only_reads:
            self._make_missing_nodes(gpus)
        return gpus

    def read(self) -> tuple[Reading, ...]:
        self._let_go_of_a_driver_that_goes()
        return self._look("read", result=tuple[Reading, ...])

    def details(self) -> tuple[Details, ...]:
        return self._look("details", result=tuple[Details, ...])

    def processes(self) -> ProcessesByDevice:
        return self._look("processes", result=ProcessesByDevice)

    def events(self) -> tuple[DriverEvent, ...]:
        drained = []
        while self._events:
            drained.append(self._events.popleft())
        return tuple(drained)

    def vitals(self) -> tuple[Vitals, ...]:
        try:
            # A worker that has just begun has looked at nothing yet.
            if found := self._ask("vitals", result=tuple[Vitals, ...]):
                self._vitals, self._vitals_at = found, time.monotonic()
        except DevicesError as error:
            log.debug("vitals not renewed", reason=str(error))
        age_seconds = time.monotonic() - self._vitals_at
        return tuple(replace(one, age_seconds=age_seconds) for one in self._vitals)

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        return self._ask("create_partition", gpu_uuid, profile_id, start, result=Instance)

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        self._ask("destroy_partition", gpu_uuid, instance, result=type(None))

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        return self._ask("instances", gpu_uuid, result=tuple[Instance, ...])

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: FBT001 - as in GpuControl
        self._ask("set_mig_mode", gpu_uuid, enabled, result=type(None))

    def set_time_slice(self, gpu_uuid: str, interval: int) -> None:
        driver_programs.set_time_slice(self.settings.driver_root, gpu_uuid, interval)

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: FBT001 - as in GpuControl
        self._ask("set_compute_mode", gpu_uuid, exclusive, result=type(None))

    def close(self) -> None:
        """End the worker, so that the driver can be unloaded; the next call starts another."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _look(self, call: str, *, result: type[Result]) -> Result:
        """Ask for what the agent looks at again and again: whatever fails may work later."""
        try:
            return self._ask(call, result=result)
        except (NoDriverError, DriverTimeoutError):
            raise
        except DevicesError as error:
            raise NoDriverError(str(error)) from error

    def _ask(self, call: str, *arguments: object, result: type[Result]) -> Result:
        try:
            return self._ask_once(call, arguments, result=result)
        except DriverChangedError:
            log.warning("gpu driver was replaced: starting a new worker")
            self.close()
        try:
            return self._ask_once(call, arguments, result=result)
        except DriverChangedError as error:
            # Not the library of the old driver any more: the new one is not whole yet.
            self.close()
            raise NoDriverError(str(error)) from error

    def _ask_once(
        self, call: str, arguments: tuple[object, ...], *, result: type[Result]
    ) -> Result:
        try:
            with CALL_SECONDS.labels(call).time():
                worker = self._living_worker()
                answer = worker.ask(call, arguments, seconds=self.deadlines[call])
            if answer.error is not None:
                raise refusal(*answer.error)
        except DevicesError as error:
            CALL_ERRORS.labels(call, type(error).__name__).inc()
            raise
        return msgspec.msgpack.decode(answer.result, type=result)

    def _living_worker(self) -> WorkerProcess:
        with self._lock:
            worker = self._worker
            if worker is not None and worker.silent_seconds() > self.silence_seconds:
                log.warning("nvml worker is silent: ending it", pid=worker.pid)
                WORKERS_SILENT.inc()
                worker.kill()
                worker = None
            if worker is None or not worker.is_alive:
                worker = WorkerProcess(
                    self.settings, environment=self.environment, on_event=self._take
                )
                self._worker = worker
                WORKERS_STARTED.inc()
            return worker

    def _take(self, told: Told) -> None:
        EVENTS.labels(told.event.kind.value).inc()
        self._events.append(told.event)

    def _let_go_of_a_driver_that_goes(self) -> None:
        """End the worker when a driver container takes its files away.

        A library that is still in use keeps the kernel module of the old driver from unloading.

        Raises:
            NoDriverError: it was so.

        """
        library = self._library
        if library is not None and not library.exists():
            self._library = None
            log.warning("driver files are gone: letting go of the driver", library=str(library))
            self.close()
            raise NoDriverError(f"{library} was taken away: the driver is being replaced")

    def _make_missing_nodes(self, gpus: tuple[Gpu, ...]) -> None:
        without = frozenset(
            gpu.minor for gpu in gpus if missing_nodes(self.settings.dev, gpu.minor)
        )
        if without and without != self._without_nodes:
            log.warning("device nodes missing", gpus=sorted(without))
            driver_programs.make_nodes(self.settings.driver_root, sorted(without))
        self._without_nodes = without
