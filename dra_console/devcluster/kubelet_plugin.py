"""One registered DRA driver, as the kubelet calls it over its unix socket.

The wire is `node-agent.md` 1.3 and 1.4. The messages of both service versions are the same
but for `share_id`, which v1beta1 lacks; requests are therefore encoded alike.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import grpc
import grpc.aio
from google.protobuf.message import DecodeError as MessageDecodeError

from dra_console.devcluster.proto import dra_v1_pb2, dra_v1beta1_pb2

SOCKET_PATH_LIMIT: Final = 107
"""Bytes in a unix socket's path: `sun_path` of Linux less its NUL."""

CHANNEL_OPTIONS: Final = (
    # Two connections to one path must be seen to come and go apart.
    ("grpc.use_local_subchannel_pool", 1),
    # The default of two minutes would hide for long that a driver is back.
    ("grpc.max_reconnect_backoff_ms", 3000),
)


class PluginCallError(Exception):
    """A call to a driver failed as a whole: not reached, out of time, or a broken answer."""


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A claim as drivers are told of it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device of a claim, ready for containers."""

    request_names: tuple[str, ...]
    """Requests without a subrequest; empty = belongs to all requests."""

    pool: str
    device: str
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """What a driver says of one claim; `error` is empty on success."""

    devices: tuple[PreparedDevice, ...] = ()
    error: str = ""


def _decode_v1(answer: bytes) -> dict[str, ClaimAnswer]:
    response = dra_v1_pb2.NodePrepareResourcesResponse.FromString(answer)
    return {
        uid: ClaimAnswer(
            devices=tuple(
                PreparedDevice(
                    request_names=tuple(device.request_names),
                    pool=device.pool_name,
                    device=device.device_name,
                    cdi_ids=tuple(device.cdi_device_ids),
                    share_id=device.share_id if device.HasField("share_id") else None,
                )
                for device in claim.devices
            ),
            error=claim.error,
        )
        for uid, claim in response.claims.items()
    }


def _decode_v1beta1(answer: bytes) -> dict[str, ClaimAnswer]:
    response = dra_v1beta1_pb2.NodePrepareResourcesResponse.FromString(answer)
    return {
        uid: ClaimAnswer(
            devices=tuple(
                PreparedDevice(
                    request_names=tuple(device.request_names),
                    pool=device.pool_name,
                    device=device.device_name,
                    cdi_ids=tuple(device.cdi_device_ids),
                )
                for device in claim.devices
            ),
            error=claim.error,
        )
        for uid, claim in response.claims.items()
    }


@dataclass(frozen=True, slots=True)
class DraService:
    """One version of the driver's service."""

    advertised: str
    """As in `supported_versions`."""

    full_name: str
    decode_prepare: Callable[[bytes], dict[str, ClaimAnswer]]


SERVICES: Final[Mapping[str, DraService]] = {
    service.advertised: service
    for service in (
        DraService("v1.DRAPlugin", "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin", _decode_v1),
        DraService(
            "v1beta1.DRAPlugin", "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin", _decode_v1beta1
        ),
    )
}


def choose_service(supported_versions: Iterable[str]) -> DraService | None:
    """Take the first known one in the driver's order of preference."""
    return next((SERVICES[name] for name in supported_versions if name in SERVICES), None)


def unix_channel(path: str) -> grpc.aio.Channel:
    """Open a channel to a unix socket; nothing is dialled yet.

    Raises:
        PluginCallError: the path is too long for a socket.

    """
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise PluginCallError(
            f"socket path has {length} bytes, at most {SOCKET_PATH_LIMIT} are possible: {path}"
        )
    return grpc.aio.insecure_channel(f"unix:{quote(path)}", options=CHANNEL_OPTIONS)


@dataclass(slots=True, eq=False)
class Plugin:
    """A driver's endpoint and the connection to it, which gRPC renews by itself."""

    driver: str
    endpoint: str
    service: DraService
    is_connected: bool = field(default=False, init=False)
    _channel: grpc.aio.Channel = field(init=False)

    def __post_init__(self) -> None:
        self._channel = unix_channel(self.endpoint)

    async def follow_connection(self, changed: Callable[["Plugin"], None]) -> None:
        """Keep the connection up, and call `changed` whenever it comes or goes; never returns."""
        state = self._channel.get_state(try_to_connect=True)
        while True:
            is_connected = state is grpc.ChannelConnectivity.READY
            if is_connected != self.is_connected:
                self.is_connected = is_connected
                changed(self)
            await self._channel.wait_for_state_change(state)
            state = self._channel.get_state(try_to_connect=True)

    async def prepare(
        self, claims: Sequence[ClaimReference], *, timeout_seconds: float
    ) -> dict[str, ClaimAnswer]:
        """Have the driver make the devices of claims ready; the answer is by claim UID.

        Raises:
            PluginCallError: the call failed as a whole.

        """
        request = dra_v1_pb2.NodePrepareResourcesRequest(claims=_claims(claims))
        answer = await self._call(
            "NodePrepareResources", request.SerializeToString(), timeout_seconds=timeout_seconds
        )
        try:
            return self.service.decode_prepare(answer)
        except MessageDecodeError as error:
            raise PluginCallError(f"driver {self.driver}: unreadable answer: {error}") from error

    async def unprepare(
        self, claims: Sequence[ClaimReference], *, timeout_seconds: float
    ) -> dict[str, str]:
        """Have the driver take back the devices of claims; error texts by claim UID.

        Raises:
            PluginCallError: the call failed as a whole.

        """
        request = dra_v1_pb2.NodeUnprepareResourcesRequest(claims=_claims(claims))
        answer = await self._call(
            "NodeUnprepareResources", request.SerializeToString(), timeout_seconds=timeout_seconds
        )
        try:
            response = dra_v1_pb2.NodeUnprepareResourcesResponse.FromString(answer)
        except MessageDecodeError as error:
            raise PluginCallError(f"driver {self.driver}: unreadable answer: {error}") from error
        return {uid: claim.error for uid, claim in response.claims.items()}

    async def close(self) -> None:
        await self._channel.close(grace=None)

    async def _call(self, method: str, request: bytes, *, timeout_seconds: float) -> bytes:
        about = f"driver {self.driver}: {method}"
        # Messages pass as bytes: which class they are depends on the method and the version.
        call = self._channel.unary_unary(
            f"/{self.service.full_name}/{method}",
            request_serializer=bytes,
            response_deserializer=bytes,
        )
        try:
            answer: bytes = await call(request, timeout=timeout_seconds)
        except grpc.aio.AioRpcError as error:
            raise PluginCallError(f"{about}: {error.code().name}: {error.details()}") from error
        except grpc.aio.UsageError as error:
            raise PluginCallError(f"{about}: the driver was deregistered") from error
        except asyncio.CancelledError as error:
            # Closing the channel cancels its calls, which looks as if the caller were cancelled.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise PluginCallError(f"{about}: the driver was deregistered") from error
        return answer


def _claims(claims: Iterable[ClaimReference]) -> list[dra_v1_pb2.Claim]:
    return [
        dra_v1_pb2.Claim(namespace=claim.namespace, name=claim.name, uid=claim.uid)
        for claim in claims
    ]
