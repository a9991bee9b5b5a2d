"""Whether the agent is alive, and ready, for kubelet's probes: the standard health service of gRPC.

A check dials the agent's own sockets as kubelet would, under the names that the servers really
have: a probe that guesses them fails for ever where a rolling update uses others. Neither call
takes a lock or asks the driver, so a busy node is not taken for a dead one (node-agent.md 0.7).

Ready is an agent that kubelet has registered. An update that waits for less takes the old agent
away while kubelet knows of no other, and a pod that starts then waits a minute for its next turn.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
import structlog
from google.protobuf.message import Message

from nodeagent.kubelet.errors import KubeletError
from nodeagent.kubelet.plugin import SERVICE_V1
from nodeagent.kubelet.proto import dra_v1_pb2 as dra
from nodeagent.kubelet.proto import registration_pb2 as introduction
from nodeagent.kubelet.proto.liveness_pb2 import HealthCheckRequest, HealthCheckResponse
from nodeagent.kubelet.registration import SERVICE as REGISTRATION
from nodeagent.kubelet.sockets import SocketPaths

log = structlog.get_logger()

SERVICE: Final = "grpc.health.v1.Health"
NAMES: Final = frozenset({"", "liveness"})
READINESS: Final = "readiness"
DIAL_SECONDS: Final = 3.0
"""For each of the two calls; kubelet's probe waits 10 s."""

THREADS: Final = 2
OFF: Final = -1

Answer = TypeVar("Answer", bound=Message)


@dataclass(slots=True)
class Liveness:
    """Serves the probes of one agent on a TCP port of its pod."""

    paths: SocketPaths | None
    """`None` for an agent that offers kubelet nothing: it is alive and ready if it answers."""

    port: int
    """0 for any free port; negative for none at all."""

    is_registered: threading.Event = field(default_factory=threading.Event)
    """Whether kubelet's last word was that it takes us."""

    _server: grpc.Server | None = field(default=None, init=False)

    def start(self) -> None:
        """Serve, if there is a port.

        Raises:
            KubeletError: the port is taken.

        """
        if self.port < 0:
            return
        # Else two agents on the host's network share the port, and each answers for the other.
        options = [("grpc.so_reuseport", 0)]
        threads = ThreadPoolExecutor(THREADS, thread_name_prefix="liveness")
        server = grpc.server(threads, options=options)
        server.add_generic_rpc_handlers((self._handler(),))
        try:
            self.port = server.add_insecure_port(f"[::]:{self.port}")
        except RuntimeError as error:
            raise KubeletError(f"--health-port {self.port}: {error}") from error
        server.start()
        self._server = server
        log.info("liveness service bound", port=self.port)

    def stop(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.stop(None)

    def check(self) -> str | None:
        """Return what is wrong with the agent's sockets, or `None`."""
        if self.paths is None:
            return None
        try:
            info = _call(
                self.paths.registration,
                f"/{REGISTRATION}/GetInfo",
                introduction.InfoRequest(),
                introduction.PluginInfo,
            )
            if info.endpoint != str(self.paths.dra):
                return f"{self.paths.registration} is another agent's"
            _call(
                self.paths.dra,
                f"/{SERVICE_V1}/NodePrepareResources",
                dra.NodePrepareResourcesRequest(),
                dra.NodePrepareResourcesResponse,
            )
        except grpc.RpcError as error:
            return str(error)
        return None

    def _handler(self) -> "grpc.GenericRpcHandler[Any, Any]":
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Check": grpc.unary_unary_rpc_method_handler(
                    self._check,
                    request_deserializer=HealthCheckRequest.FromString,
                    response_serializer=HealthCheckResponse.SerializeToString,
                )
            },
        )

    def _check(
        self, request: HealthCheckRequest, context: grpc.ServicerContext
    ) -> HealthCheckResponse:
        if request.service == READINESS:
            return _answer(is_serving=self.paths is None or self.is_registered.is_set())
        if request.service not in NAMES:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no service {request.service!r} here")
        wrong = self.check()
        if wrong is not None:
            log.error("own sockets do not answer", reason=wrong)
        return _answer(is_serving=wrong is None)


def _answer(*, is_serving: bool) -> HealthCheckResponse:
    status = HealthCheckResponse.SERVING if is_serving else HealthCheckResponse.NOT_SERVING
    return HealthCheckResponse(status=status)


def _call(socket: Path, method: str, request: Message, answer: type[Answer]) -> Answer:
    # A subchannel of its own: one that is shared and still connected would prove nothing.
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"unix:{socket}", options=options) as channel:
        call = channel.unary_unary(
            method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        answered: Answer = call(request, timeout=DIAL_SECONDS)
        return answered
