"""A small DRA driver on real unix sockets, whose behaviour a test decides."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import grpc
import grpc.aio

from dra_console.devcluster.proto import dra_v1_pb2 as dra
from dra_console.devcluster.proto import pluginregistration_pb2 as registration

Request = TypeVar("Request")
Answer = TypeVar("Answer")

DRIVER = "gpu.nvidia.com"
V1 = "v1.DRAPlugin"
V1BETA1 = "v1beta1.DRAPlugin"
SERVICES = {
    V1: "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    V1BETA1: "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin",
}


@dataclass
class Driver:
    """Prepares device `gpu-0` for request `gpu` of every claim, with a CDI file each."""

    node_directory: Path
    name: str = DRIVER
    supported_versions: tuple[str, ...] = (V1, V1BETA1)
    instance: str = ""
    """Tells the sockets of two instances of one driver apart."""

    endpoint: Path | None = None
    """Socket of the DRA service, where it is not this instance's own."""

    plugin_type: str = "DRAPlugin"

    registered: list[bool] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    prepare_calls: list[tuple[str, ...]] = field(default_factory=list)
    """The claims of each prepare call, by name."""

    unprepare_calls: list[tuple[str, ...]] = field(default_factory=list)
    services_called: set[str] = field(default_factory=set)
    fail_prepare: Callable[[str], str] = lambda _claim: ""
    """Error text for a claim by its name; empty = prepare it."""

    fail_unprepare: Callable[[str], str] = lambda _claim: ""
    change_answer: Callable[[dra.NodePrepareResourcesResponse], None] = lambda _answer: None
    answer_seconds: float = 0
    writes_cdi: bool = True

    _servers: list[tuple[grpc.aio.Server, Path]] = field(default_factory=list)

    @property
    def dra_socket(self) -> Path:
        folder = self.node_directory / "plugins" / self.name
        return self.endpoint or folder / f"dra{self.instance}.sock"

    @property
    def registration_socket(self) -> Path:
        return self.node_directory / "plugins_registry" / f"{self.name}{self.instance}-reg.sock"

    def cdi_file(self, uid: str) -> Path:
        return self.node_directory / "cdi" / f"k8s.{self.name}-claim_{uid}.json"

    async def start(self) -> None:
        """Serve both sockets; a stale one of ours is replaced."""
        await self.serve_dra()
        await self.register()

    async def serve_dra(self) -> None:
        server = grpc.aio.server()
        for service in SERVICES.values():
            handlers = {
                "NodePrepareResources": grpc.unary_unary_rpc_method_handler(
                    self._noted(service, self._prepare),
                    request_deserializer=dra.NodePrepareResourcesRequest.FromString,
                    response_serializer=dra.NodePrepareResourcesResponse.SerializeToString,
                ),
                "NodeUnprepareResources": grpc.unary_unary_rpc_method_handler(
                    self._noted(service, self._unprepare),
                    request_deserializer=dra.NodeUnprepareResourcesRequest.FromString,
                    response_serializer=dra.NodeUnprepareResourcesResponse.SerializeToString,
                ),
            }
            server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(service, handlers),)
            )
        await self._serve(server, self.dra_socket)

    async def register(self) -> None:
        server = grpc.aio.server()
        handlers = {
            "GetInfo": grpc.unary_unary_rpc_method_handler(
                self._get_info,
                request_deserializer=registration.InfoRequest.FromString,
                response_serializer=registration.PluginInfo.SerializeToString,
            ),
            "NotifyRegistrationStatus": grpc.unary_unary_rpc_method_handler(
                self._notify,
                request_deserializer=registration.RegistrationStatus.FromString,
                response_serializer=registration.RegistrationStatusResponse.SerializeToString,
            ),
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("pluginregistration.Registration", handlers),)
        )
        await self._serve(server, self.registration_socket)

    async def crash(self) -> None:
        """Answer no more and leave a registration socket, as a killed process does."""
        await self.stop()
        leave_stale_socket(self.registration_socket)

    async def stop(self) -> None:
        """End, and take the sockets away."""
        for server, path in self._servers:
            await server.stop(grace=None)
            # gRPC removes the file in a thread of its own; a successor's must not be hit.
            while path.exists():  # noqa: ASYNC110  nothing tells when it is gone
                await asyncio.sleep(0.01)
        self._servers.clear()

    async def _serve(self, server: grpc.aio.Server, path: Path) -> None:
        make_way(path)
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        self._servers.append((server, path))

    def _noted(
        self, service: str, handler: Callable[[Request], Awaitable[Answer]]
    ) -> Callable[[Request, object], Awaitable[Answer]]:
        async def answer(request: Request, _context: object) -> Answer:
            self.services_called.add(service)
            return await handler(request)

        return answer

    async def _get_info(
        self, _request: registration.InfoRequest, _context: object
    ) -> registration.PluginInfo:
        return registration.PluginInfo(
            type=self.plugin_type,
            name=self.name,
            endpoint=str(self.dra_socket),
            supported_versions=self.supported_versions,
        )

    async def _notify(
        self,
        status: registration.RegistrationStatus,
        context: grpc.aio.ServicerContext[
            registration.RegistrationStatus, registration.RegistrationStatusResponse
        ],
    ) -> registration.RegistrationStatusResponse:
        self.registered.append(status.plugin_registered)
        if not status.plugin_registered:
            self.refusals.append(status.error)
            await context.abort(grpc.StatusCode.INTERNAL, status.error)
        return registration.RegistrationStatusResponse()

    async def _prepare(
        self, request: dra.NodePrepareResourcesRequest
    ) -> dra.NodePrepareResourcesResponse:
        self.prepare_calls.append(tuple(claim.name for claim in request.claims))
        await asyncio.sleep(self.answer_seconds)
        answer = dra.NodePrepareResourcesResponse()
        for claim in request.claims:
            entry = answer.claims[claim.uid]
            entry.error = self.fail_prepare(claim.name)
            if entry.error:
                continue
            cdi_id = f"k8s.{self.name}/claim={claim.uid}-gpu-0"
            entry.devices.add(
                request_names=["gpu"],
                pool_name=self.node_directory.name,
                device_name="gpu-0",
                cdi_device_ids=[cdi_id],
            )
            if self.writes_cdi:
                self.write_cdi(claim.uid)
        self.change_answer(answer)
        return answer

    def write_cdi(self, uid: str) -> None:
        spec = {
            "cdiVersion": "0.5.0",
            "kind": f"k8s.{self.name}/claim",
            "devices": [{"name": f"{uid}-gpu-0", "containerEdits": {"env": ["GPU_DEVICE=gpu-0"]}}],
        }
        self.cdi_file(uid).write_text(json.dumps(spec))

    async def _unprepare(
        self, request: dra.NodeUnprepareResourcesRequest
    ) -> dra.NodeUnprepareResourcesResponse:
        self.unprepare_calls.append(tuple(claim.name for claim in request.claims))
        answer = dra.NodeUnprepareResourcesResponse()
        for claim in request.claims:
            entry = answer.claims[claim.uid]
            entry.error = self.fail_unprepare(claim.name)
            if not entry.error:
                self.cdi_file(claim.uid).unlink(missing_ok=True)
        return answer


def make_way(path: Path) -> None:
    """Remove a stale socket, as a driver does before it binds its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)


def leave_stale_socket(path: Path) -> None:
    """Leave a socket file behind on which nobody listens."""
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
