"""The stream by which kubelet learns how the devices are (KEP-4680; node-agent.md 1.5, 6.5).

Kubelet wants all devices each time, hears of changes at once, and takes a device's health for
unknown when nothing came for the time that we name. It forgets everything of a driver when any
stream of that driver ends, also one of a predecessor: so a peer's coming and going says it all
again. A report that nobody renews says "unknown" by itself, so old good news is never repeated.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import grpc
import structlog

from nodeagent.health.report import HealthReport, Reports, Status
from nodeagent.kubelet.proto import health_v1_pb2 as wire

log = structlog.get_logger()

SERVICES: Final = ("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")
"""As they are called and as they are advertised: kubelet asks for v1 since 1.37, else v1alpha1."""

HEARTBEAT_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 60
"""How long kubelet believes a message; several heartbeats may be late."""

LOOK_SECONDS: Final = 1.0
"""How soon a stream notices that kubelet has left it."""

MOST_STREAMS: Final = 8
"""Each holds a thread. Kubelet has one, and a second one for a moment."""

STATUSES: Final[Mapping[Status, wire.HealthStatus.ValueType]] = MappingProxyType(
    {
        Status.HEALTHY: wire.HEALTHY,
        Status.UNHEALTHY: wire.UNHEALTHY,
        Status.UNKNOWN: wire.UNKNOWN,
    }
)


@dataclass(slots=True)
class Health:
    """One driver's health service. Safe between threads."""

    reports: Reports
    pool: str
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    _repeats: int = field(default=0, init=False)
    _streams: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(MOST_STREAMS), init=False
    )

    def handlers(self) -> "tuple[grpc.GenericRpcHandler[Any, Any], ...]":
        """Return what serves both versions."""
        method = grpc.unary_stream_rpc_method_handler(
            self._watch,
            request_deserializer=wire.NodeWatchResourcesRequest.FromString,
            response_serializer=wire.NodeWatchResourcesResponse.SerializeToString,
        )
        return tuple(
            grpc.method_handlers_generic_handler(service, {"NodeWatchResources": method})
            for service in SERVICES
        )

    def repeat(self) -> None:
        """Have every stream send everything again within a second."""
        self._repeats += 1

    def _watch(
        self, _request: wire.NodeWatchResourcesRequest, context: grpc.ServicerContext
    ) -> Iterator[wire.NodeWatchResourcesResponse]:
        if not self._streams.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_STREAMS} streams are open")
        log.info("health stream opened")
        try:
            yield from self._messages(context)
        finally:
            self._streams.release()
            log.info("health stream ended")

    def _messages(self, context: grpc.ServicerContext) -> Iterator[wire.NodeWatchResourcesResponse]:
        sent, repeats, due = 0, self._repeats, time.monotonic()
        while context.is_active():
            seconds = min(LOOK_SECONDS, max(0.0, due - time.monotonic()))
            report = self.reports.wait(after=sent, seconds=seconds)
            if self.reports.is_closed:
                return
            is_due = time.monotonic() >= due or repeats != self._repeats
            # Before the first report no device is known: that is not the same as having none.
            if report.number > sent or (is_due and report.number > 0):
                repeats = self._repeats
                yield message_of(report, pool=self.pool, at=time.time())
                sent, due = report.number, time.monotonic() + self.heartbeat_seconds
            elif is_due:
                due = time.monotonic() + self.heartbeat_seconds


def message_of(report: HealthReport, *, pool: str, at: float) -> wire.NodeWatchResourcesResponse:
    """Return a report as kubelet reads it; `at` is the Unix time, in seconds.

    The time is that of sending and not of the change: what is reported was judged just now.
    """
    return wire.NodeWatchResourcesResponse(
        devices=[
            wire.DeviceHealth(
                device=wire.DeviceIdentifier(pool_name=pool, device_name=one.device),
                health=STATUSES[one.status],
                last_updated_time=int(at),
                health_check_timeout_seconds=TIMEOUT_SECONDS,
                message=one.message,
            )
            for one in report.devices
        ]
    )
