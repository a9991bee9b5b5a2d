"""Waits for the driver's events on a thread of its own (node-agent.md 6.3, 6.4).

A wait that fails names no GPU, so each is probed, and only those that answer that they are lost
count as lost. An event set also keeps its GPUs open, which can keep MIG mode from being switched:
whoever does that pauses the watch.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import pynvml

from nodeagent.devices.events import DriverEvent, EventKind
from nodeagent.devices.nvml.calls import Note
from nodeagent.devices.nvml.vitals import probe

WAIT_MILLISECONDS: Final = 1000
BACK_OFF_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
NO_INSTANCE: Final = 0xFFFFFFFF
KINDS: Final = MappingProxyType(
    {
        pynvml.nvmlEventTypeXidCriticalError: EventKind.XID,
        pynvml.nvmlEventTypeDoubleBitEccError: EventKind.DOUBLE_BIT_ECC,
        pynvml.nvmlEventTypeSingleBitEccError: EventKind.SINGLE_BIT_ECC,
        pynvml.nvmlEventTypeGpuUnavailableError: EventKind.GPU_UNAVAILABLE,
        pynvml.nvmlEventTypeGpuRecoveryAction: EventKind.RECOVERY_ACTION,
    }
)
ALL_KINDS: Final = sum(KINDS)


@dataclass(slots=True)
class Watch:
    """The events of a set of GPUs, told as they come."""

    tell: Callable[[DriverEvent], None]
    note: Note
    monitored: dict[str, bool] = field(default_factory=dict)
    """By UUID, whether the driver took the registration."""

    _handles: Mapping[str, Any] = field(default_factory=dict)
    _thread: threading.Thread | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)

    def over(self, handles: Mapping[str, Any]) -> None:
        """Watch these GPUs, by UUID, from now on."""
        self.stop()
        self._handles = dict(handles)
        self._start()

    def stop(self) -> None:
        """End the thread; takes as long as one wait."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Watch nothing meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        if self._handles:
            self._stopping = threading.Event()
            self._thread = threading.Thread(target=self._run, name="nvml-events", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        failures = 0
        lost: set[str] = set()
        while not self._stopping.is_set():
            try:
                event_set = self._register(lost)
            except pynvml.NVMLError as error:
                self._fail(error, lost, failures)
                failures += 1
                continue
            try:
                failures = self._wait(event_set, lost, failures)
            finally:
                with suppress(pynvml.NVMLError):
                    pynvml.nvmlEventSetFree(event_set)

    def _register(self, lost: set[str]) -> Any:  # noqa: ANN401 - pynvml is untyped
        event_set = pynvml.nvmlEventSetCreate()
        for uuid, handle in self._handles.items():
            if uuid in lost:
                continue
            try:
                supported = pynvml.nvmlDeviceGetSupportedEventTypes(handle) & ALL_KINDS
                pynvml.nvmlDeviceRegisterEvents(handle, supported, event_set)
            except pynvml.NVMLError as error:
                if self.monitored.get(uuid) is not False:
                    self.note("warning", "gpu not monitored", gpu=uuid, reason=str(error))
                self.monitored[uuid] = False
            else:
                self.monitored[uuid] = bool(supported & pynvml.nvmlEventTypeXidCriticalError)
        return event_set

    def _wait(self, event_set: object, lost: set[str], failures: int) -> int:
        """Wait until something is wrong with the set; return how often that was so in a row."""
        while not self._stopping.is_set():
            try:
                data = pynvml.nvmlEventSetWait_v2(event_set, WAIT_MILLISECONDS)
            except pynvml.NVMLError as error:
                if error.value == pynvml.NVML_ERROR_TIMEOUT:
                    failures = 0
                    if lost and self._found_again(lost):
                        return failures
                    continue
                self._fail(error, lost, failures)
                return failures + 1
            failures = 0
            self._tell(data)
        return failures

    def _tell(self, data: Any) -> None:  # noqa: ANN401 - pynvml is untyped
        kind = KINDS.get(data.eventType)
        uuid = self._uuid_of(data.device)
        if kind is None or uuid is None:
            self.note("warning", "event not understood", type=data.eventType, data=data.eventData)
            return
        is_whole = NO_INSTANCE in (data.gpuInstanceId, data.computeInstanceId)
        self.tell(
            DriverEvent(
                kind=kind,
                gpu_uuid=uuid,
                at=datetime.now(UTC),
                xid=data.eventData if kind is EventKind.XID else None,
                gpu_instance_id=None if is_whole else data.gpuInstanceId,
                compute_instance_id=None if is_whole else data.computeInstanceId,
            )
        )

    def _uuid_of(self, handle: Any) -> str | None:  # noqa: ANN401 - pynvml is untyped
        address = _address(handle)
        return next((u for u, own in self._handles.items() if _address(own) == address), None)

    def _fail(self, error: "pynvml.NVMLError", lost: set[str], failures: int) -> None:
        now_lost = {uuid for uuid, handle in self._handles.items() if _is_lost(handle)}
        gone = now_lost - lost
        for uuid in sorted(gone):
            now = datetime.now(UTC)
            self.tell(DriverEvent(kind=EventKind.GPU_UNAVAILABLE, gpu_uuid=uuid, at=now))
        if gone or failures == 0:
            self.note("warning", "waiting for events failed", reason=str(error), lost=sorted(gone))
        lost.clear()
        lost |= now_lost
        self._stopping.wait(BACK_OFF_SECONDS[min(failures, len(BACK_OFF_SECONDS) - 1)])

    def _found_again(self, lost: set[str]) -> bool:
        found = {uuid for uuid in lost if not _is_lost(self._handles[uuid])}
        lost -= found
        return bool(found)


def _is_lost(handle: object) -> bool:
    try:
        return bool(probe(handle) == pynvml.NVML_ERROR_GPU_IS_LOST)
    except Exception:  # noqa: BLE001 - the whole driver is gone: no GPU is lost by itself
        return False


def _address(handle: Any) -> int | None:  # noqa: ANN401 - pynvml is untyped
    return ctypes.cast(handle, ctypes.c_void_p).value
