"""The DRA service that kubelet calls before a pod starts and after it ended.

v1 and v1beta1 differ on the wire in two things only: the service's name, and `share_id`, which
v1beta1 lacks. So both are served from v1's messages, and v1beta1 answers leave that field out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import grpc
import structlog

from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.prepare import Refusal
from nodeagent.claims.preparer import Outcome, Preparer
from nodeagent.claims.reading import ClaimReference
from nodeagent.kubelet.proto import dra_v1_pb2 as wire

log = structlog.get_logger()

PACKAGE: Final = "k8s.io.kubelet.pkg.apis.dra"
SERVICE_V1: Final = f"{PACKAGE}.v1.DRAPlugin"
SERVICE_V1BETA1: Final = f"{PACKAGE}.v1beta1.DRAPlugin"

Request = TypeVar("Request")
Response = TypeVar("Response")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One driver's service."""

    preparer: Preparer

    def handlers(self) -> "tuple[grpc.GenericRpcHandler[Any, Any], ...]":
        """Return what serves both versions."""
        return (
            self._handler(SERVICE_V1, self._prepare),
            self._handler(SERVICE_V1BETA1, self._prepare_v1beta1),
        )

    def _handler(
        self,
        service: str,
        prepare: Callable[[wire.NodePrepareResourcesRequest], wire.NodePrepareResourcesResponse],
    ) -> "grpc.GenericRpcHandler[Any, Any]":
        return grpc.method_handlers_generic_handler(
            service,
            {
                "NodePrepareResources": grpc.unary_unary_rpc_method_handler(
                    _guarded(prepare),
                    request_deserializer=wire.NodePrepareResourcesRequest.FromString,
                    response_serializer=wire.NodePrepareResourcesResponse.SerializeToString,
                ),
                "NodeUnprepareResources": grpc.unary_unary_rpc_method_handler(
                    _guarded(self._unprepare),
                    request_deserializer=wire.NodeUnprepareResourcesRequest.FromString,
                    response_serializer=wire.NodeUnprepareResourcesResponse.SerializeToString,
                ),
            },
        )

    def _prepare(
        self, request: wire.NodePrepareResourcesRequest
    ) -> wire.NodePrepareResourcesResponse:
        outcomes = self.preparer.prepare(_references(request.claims))
        return wire.NodePrepareResourcesResponse(
            claims={uid: self._claim_answer(uid, outcome) for uid, outcome in outcomes.items()}
        )

    def _claim_answer(self, uid: str, outcome: Outcome) -> wire.NodePrepareResourceResponse:
        if isinstance(outcome, Refusal):
            return wire.NodePrepareResourceResponse(error=outcome.reason)
        ids = self.preparer.cdi_ids(uid, outcome)
        return wire.NodePrepareResourceResponse(
            devices=[_device(device, own) for device, own in zip(outcome, ids, strict=True)]
        )

    def _prepare_v1beta1(
        self, request: wire.NodePrepareResourcesRequest
    ) -> wire.NodePrepareResourcesResponse:
        response = self._prepare(request)
        for answer in response.claims.values():
            for device in answer.devices:
                device.ClearField("share_id")
        return response

    def _unprepare(
        self, request: wire.NodeUnprepareResourcesRequest
    ) -> wire.NodeUnprepareResourcesResponse:
        errors = self.preparer.unprepare(_references(request.claims))
        return wire.NodeUnprepareResourcesResponse(
            claims={
                uid: wire.NodeUnprepareResourceResponse(error=error or "")
                for uid, error in errors.items()
            }
        )


def _guarded(
    answer: Callable[[Request], Response],
) -> Callable[[Request, grpc.ServicerContext], Response]:
    """Let a fault of ours end the call, not the process, and tell kubelet what it was."""

    def call(request: Request, context: grpc.ServicerContext) -> Response:
        try:
            return answer(request)
        except Exception as error:
            log.exception("call failed")
            context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
            raise  # Unreachable: abort has raised.

    return call


def _references(claims: Iterable[wire.Claim]) -> list[ClaimReference]:
    return [ClaimReference(claim.namespace, claim.name, claim.uid) for claim in claims]


def _device(device: PlannedDevice, cdi_ids: Sequence[str]) -> wire.Device:
    return wire.Device(
        request_names=device.requests,
        pool_name=device.pool,
        device_name=device.device,
        cdi_device_ids=cdi_ids,
        share_id=device.share_id,
    )
