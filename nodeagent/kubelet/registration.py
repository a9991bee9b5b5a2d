"""The service by which kubelet gets to know the driver (node-agent.md 1.2, 1.6).

It has a server and threads of its own, and answers from constants: some kubelets ask for life,
give it a second, and drop a plugin that does not answer, whatever else the plugin is doing.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
import prometheus_client
import structlog

from nodeagent.kubelet.proto.registration_pb2 import (
    InfoRequest,
    PluginInfo,
    RegistrationStatus,
    RegistrationStatusResponse,
)

log = structlog.get_logger()

SERVICE: Final = "pluginregistration.Registration"
SUPPORTED_VERSIONS: Final = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""Kubelet takes the first one that it knows: v1 since 1.34, v1beta1 since 1.32."""

REGISTERED: Final = prometheus_client.Gauge(
    "dra_nodeagent_registered", "Whether kubelet's last word was that the driver is registered"
)


@dataclass(frozen=True, slots=True)
class Registration:
    """One driver's registration with the node's kubelet."""

    driver: str
    endpoint: str
    """Path of the DRA socket."""

    on_registered: Callable[[], None]
    """Called each time that kubelet has registered us: it may just have wiped our slices."""

    optional_services: tuple[str, ...] = ()
    """What the DRA socket serves beside the driver's service; kubelet takes it or leaves it."""

    is_registered: threading.Event = field(default_factory=threading.Event)

    def handler(self) -> "grpc.GenericRpcHandler[Any, Any]":
        """Return what serves both methods."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "GetInfo": grpc.unary_unary_rpc_method_handler(
                    self._get_info,
                    request_deserializer=InfoRequest.FromString,
                    response_serializer=PluginInfo.SerializeToString,
                ),
                "NotifyRegistrationStatus": grpc.unary_unary_rpc_method_handler(
                    self._notify,
                    request_deserializer=RegistrationStatus.FromString,
                    response_serializer=RegistrationStatusResponse.SerializeToString,
                ),
            },
        )

    def _get_info(self, _request: InfoRequest, _context: grpc.ServicerContext) -> PluginInfo:
        return PluginInfo(
            type="DRAPlugin",
            name=self.driver,
            endpoint=self.endpoint,
            supported_versions=(*SUPPORTED_VERSIONS, *self.optional_services),
        )

    def _notify(
        self, status: RegistrationStatus, context: grpc.ServicerContext
    ) -> RegistrationStatusResponse:
        if not status.plugin_registered:
            self.is_registered.clear()
            REGISTERED.set(0)
            log.error("registration refused by kubelet", reason=status.error)
            # An error answer makes kubelet try again.
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, status.error)
        log.info("registered with kubelet", driver=self.driver)
        self.is_registered.set()
        REGISTERED.set(1)
        self.on_registered()
        return RegistrationStatusResponse()
