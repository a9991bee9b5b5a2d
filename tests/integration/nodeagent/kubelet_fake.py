"""Kubelet's side of the plugin API, made to be restarted, aged and left waiting by tests.

It does what node-agent.md 1.6, 2.1 and 4.8 say of kubelet: finds sockets in its registry, asks
who is there, chooses services in the plugin's order from those that this version knows, holds
connections, calls the newest connected plugin of a driver, watches health, forgets all of a
driver's health when any of its streams ends, and wipes slices: all at its start, and those of a
driver that it has lost for a while.
"""

import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message

from dra_console.devcluster.proto import dra_v1_pb2 as dra
from dra_console.devcluster.proto import pluginregistration_pb2 as wire
from dra_console.kube.errors import NotFoundError
from dra_console.kube.kinds import RESOURCE_SLICES
from nodeagent.fields import JsonObject
from nodeagent.kubelet.proto import health_v1_pb2 as health
from tests.builders.cdi_resolver import resolve
from tests.builders.objects import DRIVER
from tests.integration.nodeagent.rig import CALL_SECONDS, ApiServer, reference_to, uid_of

POLL_SECONDS: Final = 0.05
DIAL_SECONDS: Final = 10
INFO_SECONDS: Final = 1
NOTIFY_SECONDS: Final = 5
WIPE_SECONDS: Final = 30
KUBELET_1_32: Final = frozenset({"v1beta1.DRAPlugin"})
KUBELET_1_34: Final = frozenset({"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"})
KUBELET_1_37: Final = KUBELET_1_34 | {"v1.DRAResourceHealth"}
KUBELET_AFTER_V1BETA1: Final = frozenset({"v1.DRAPlugin", "v1.DRAResourceHealth"})

Answer = TypeVar("Answer", bound=Message)
OPTIONS: Final = (("grpc.use_local_subchannel_pool", 1),)
Socket: TypeAlias = tuple[Path, int]
"""A path and the file's inode: a file that was replaced is another socket."""


@dataclass(slots=True, eq=False)
class Registered:
    """One plugin that was registered, with the connection that is held to it."""

    info: wire.PluginInfo
    service: str
    health_service: str | None
    channel: grpc.Channel
    is_connected: bool = False
    has_ended: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class KubeletFake:
    """The kubelet of one node."""

    root: Path
    node: str
    api: ApiServer
    known: frozenset[str] = KUBELET_1_37
    wipe_seconds: float = WIPE_SECONDS
    refused: list[str] = field(default_factory=list)
    """Why sockets were not registered, in order."""

    prepared: dict[str, dra.NodePrepareResourceResponse] = field(default_factory=dict)
    """What kubelet has noted of claims by UID; it outlives its process in a file."""

    _plugins: dict[Socket, Registered] = field(default_factory=dict)
    _health: dict[str, dict[str, health.DeviceHealth]] = field(default_factory=dict)
    _lost_at: dict[str, float] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start as a process does: nothing is known of plugins, and all slices go."""
        self._wipe()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End as a process does: connections close, plugins are told nothing."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        for socket in list(self._plugins):
            self._drop(socket)
        self._lost_at.clear()

    def restart(self) -> None:
        self.stop()
        self.start()

    def plugins(self, driver: str = DRIVER) -> list[Registered]:
        """Return a driver's plugins, the one to be called first."""
        newest_first = reversed(list(self._plugins.values()))
        found = [one for one in newest_first if one.info.name == driver]
        return sorted(found, key=lambda one: not one.is_connected)

    def is_registered(self, driver: str = DRIVER, *, plugins: int = 1) -> bool:
        """Tell whether so many plugins of a driver are registered and connected."""
        return [one.is_connected for one in self.plugins(driver)] == [True] * plugins

    def health(self, driver: str = DRIVER) -> dict[str, health.DeviceHealth]:
        """Return what is known of a driver's devices by name."""
        return dict(self._health.get(driver, {}))

    def prepare(self, *claims: JsonObject, driver: str = DRIVER) -> dict[str, str]:
        """Have claims prepared unless they are; return errors by UID, empty ones for success."""
        asked = [claim for claim in claims if uid_of(claim) not in self.prepared]
        if not asked:
            return {uid_of(claim): "" for claim in claims}
        request = dra.NodePrepareResourcesRequest(claims=[reference_to(one) for one in asked])
        answer = self._call(
            driver, "NodePrepareResources", request, dra.NodePrepareResourcesResponse
        )
        assert set(answer.claims) == {uid_of(claim) for claim in asked}
        errors = {uid_of(claim): "" for claim in claims}
        for uid, claim in answer.claims.items():
            errors[uid] = claim.error
            if not claim.error:
                self._check(claim, of_v1=self.plugins(driver)[0].service == "v1.DRAPlugin")
                self.prepared[uid] = claim
        return errors

    def unprepare(self, *claims: JsonObject, driver: str = DRIVER) -> dict[str, str]:
        """Have claims undone; return errors by UID, empty ones for success."""
        request = dra.NodeUnprepareResourcesRequest(claims=[reference_to(one) for one in claims])
        answer = self._call(
            driver, "NodeUnprepareResources", request, dra.NodeUnprepareResourcesResponse
        )
        assert set(answer.claims) == {uid_of(claim) for claim in claims}
        for uid, claim in answer.claims.items():
            if not claim.error:
                self.prepared.pop(uid, None)
        return {uid: claim.error for uid, claim in answer.claims.items()}

    def _check(self, claim: dra.NodePrepareResourceResponse, *, of_v1: bool) -> None:
        """Hold an answer to what kubelet and the container runtime need."""
        for device in claim.devices:
            assert device.pool_name
            assert device.device_name
            assert not any("/" in request for request in device.request_names)
            assert of_v1 or not device.HasField("share_id")
            resolve([self.root / "cdi"], device.cdi_device_ids)

    def _call(self, driver: str, method: str, request: Message, answer: type[Answer]) -> Answer:
        plugin = self.plugins(driver)[0]
        call = plugin.channel.unary_unary(
            f"/k8s.io.kubelet.pkg.apis.dra.{plugin.service}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        answered: Answer = call(request, timeout=CALL_SECONDS)
        return answered

    def _run(self) -> None:
        retry_at: dict[Socket, float] = {}
        while not self._stopping.wait(POLL_SECONDS):
            present = set(self._sockets())
            for gone in self._plugins.keys() - present:
                self._drop(gone)
            for socket in sorted(present - self._plugins.keys(), key=str):
                if time.monotonic() < retry_at.get(socket, 0):
                    continue
                try:
                    self._register(socket)
                except (grpc.RpcError, grpc.FutureTimeoutError, ConnectionError) as error:
                    self.refused.append(str(error))
                    retry_at[socket] = time.monotonic() + 0.5
            self._wipe_lost()

    def _sockets(self) -> Iterator[Socket]:
        for path in (self.root / "plugins_registry").iterdir():
            with suppress(FileNotFoundError):
                found = path.lstat()
                if stat.S_ISSOCK(found.st_mode) and not path.name.startswith("."):
                    yield path, found.st_ino

    def _register(self, socket: Socket) -> None:
        with _dialled(socket[0]) as channel:
            info = channel.unary_unary(
                "/pluginregistration.Registration/GetInfo",
                request_serializer=wire.InfoRequest.SerializeToString,
                response_deserializer=wire.PluginInfo.FromString,
            )(wire.InfoRequest(), timeout=INFO_SECONDS)
            notify = channel.unary_unary(
                "/pluginregistration.Registration/NotifyRegistrationStatus",
                request_serializer=wire.RegistrationStatus.SerializeToString,
                response_deserializer=wire.RegistrationStatusResponse.FromString,
            )
            chosen = [one for one in info.supported_versions if one in self.known]
            services = [one for one in chosen if one.endswith(".DRAPlugin")]
            taken = [one.info.endpoint for one in self._plugins.values()]
            problem = "" if services else f"no known version in {list(info.supported_versions)}"
            if info.endpoint in taken:
                problem = f"endpoint {info.endpoint} is taken"
            if problem:
                status = wire.RegistrationStatus(plugin_registered=False, error=problem)
                with suppress(grpc.RpcError):
                    notify(status, timeout=NOTIFY_SECONDS)
                raise ConnectionError(problem)
            healths = [one for one in chosen if one.endswith(".DRAResourceHealth")]
            plugin = Registered(
                info,
                services[0],
                next(iter(healths), None),
                grpc.insecure_channel(f"unix:{info.endpoint}", options=OPTIONS),
            )
            notify(wire.RegistrationStatus(plugin_registered=True), timeout=NOTIFY_SECONDS)
        self._plugins[socket] = plugin
        self._follow(plugin)

    def _follow(self, plugin: Registered) -> None:
        def changed(state: grpc.ChannelConnectivity) -> None:
            plugin.is_connected = state is grpc.ChannelConnectivity.READY

        plugin.channel.subscribe(changed, try_to_connect=True)
        if plugin.health_service is not None:
            threading.Thread(target=self._watch_health, args=(plugin,), daemon=True).start()

    def _watch_health(self, plugin: Registered) -> None:
        watch = plugin.channel.unary_stream(
            f"/{plugin.health_service}/NodeWatchResources",
            request_serializer=health.NodeWatchResourcesRequest.SerializeToString,
            response_deserializer=health.NodeWatchResourcesResponse.FromString,
        )
        name = plugin.info.name
        while not plugin.has_ended.is_set():
            with suppress(grpc.RpcError, ValueError):
                for said in watch(health.NodeWatchResourcesRequest()):
                    self._health[name] = {one.device.device_name: one for one in said.devices}
            # Whoever's stream it was, nothing is known of the driver's devices any more.
            self._health[name] = {}
            plugin.has_ended.wait(0.5)

    def _drop(self, socket: Socket) -> None:
        plugin = self._plugins.pop(socket)
        plugin.has_ended.set()
        plugin.is_connected = False
        plugin.channel.close()

    def _wipe_lost(self) -> None:
        connected = {one.info.name for one in self._plugins.values() if one.is_connected}
        for plugin in self._plugins.values():
            # Known from now on, so that it can be lost.
            self._lost_at.setdefault(plugin.info.name, time.monotonic())
        for driver, since in list(self._lost_at.items()):
            if driver in connected:
                self._lost_at[driver] = time.monotonic()
            elif time.monotonic() - since > self.wipe_seconds:
                self._wipe(driver)
                del self._lost_at[driver]

    def _wipe(self, driver: str | None = None) -> None:
        for found in self.api.client.list(RESOURCE_SLICES).items:
            spec, metadata = found["spec"], found["metadata"]
            assert isinstance(spec, dict)
            assert isinstance(metadata, dict)
            if spec.get("nodeName") == self.node and driver in (None, spec["driver"]):
                with suppress(NotFoundError):
                    self.api.client.delete(RESOURCE_SLICES, str(metadata["name"]))


@contextmanager
def _dialled(path: Path) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"unix:{path}", options=OPTIONS) as channel:
        grpc.channel_ready_future(channel).result(DIAL_SECONDS)
        yield channel
