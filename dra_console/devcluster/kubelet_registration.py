"""How the kubelet finds drivers: it watches a directory for registration sockets.

Follows `node-agent.md` 1.6. A socket that appears is asked for the driver's name and address;
one that fails is asked again with back-off; one that goes, or is replaced by another of the
same name, takes its registration with it.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

import grpc
import grpc.aio
import structlog

from dra_console.devcluster.kubelet_plugin import (
    Plugin,
    PluginCallError,
    choose_service,
    unix_channel,
)
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.proto import pluginregistration_pb2 as wire

log = structlog.get_logger()

PLUGIN_TYPE: Final = "DRAPlugin"
REGISTRATION: Final = "/pluginregistration.Registration"


class RegistrationError(Exception):
    """A driver was not registered; the socket is tried again."""


@dataclass(frozen=True, slots=True)
class Socket:
    """One socket file; the inode and time tell it from a later one of the same name."""

    path: str
    inode: int
    created_ns: int


def sockets_in(directory: Path) -> frozenset[Socket]:
    """List the sockets below a directory; names that begin with a dot are not looked at."""

    def found() -> Iterator[Socket]:
        for folder, folders, names in os.walk(directory):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118  five times a second and node, and Path costs thrice as much
                try:
                    status = os.lstat(path)
                except FileNotFoundError:
                    continue
                if stat.S_ISSOCK(status.st_mode) and not name.startswith("."):
                    # Not ctime: drivers chmod their socket after binding it.
                    yield Socket(path, status.st_ino, status.st_mtime_ns)

    return frozenset(found())


@dataclass(slots=True)
class PluginRegistry:
    """The drivers of one node. `changed` hears of each driver whose connections changed."""

    directory: Path
    timings: Timings
    changed: Callable[[str], None]
    _plugins: list[Plugin] = field(default_factory=list)

    async def run(self) -> NoReturn:
        """Register what appears in the directory, until cancelled."""
        workers: dict[Socket, asyncio.Task[NoReturn]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                present = sockets_in(self.directory)
                for gone in workers.keys() - present:
                    worker = workers.pop(gone)
                    worker.cancel()
                    # The successor may have the same endpoint, which would count as taken.
                    await asyncio.wait((worker,))
                for new in present - workers.keys():
                    workers[new] = tasks.create_task(self._serve(new))
                await asyncio.sleep(self.timings.registry_poll_seconds)

    def plugin(self, driver: str) -> Plugin | None:
        """Return the plugin to call: the newest connected one, else the newest."""
        of_driver = [plugin for plugin in reversed(self._plugins) if plugin.driver == driver]
        return next(
            (plugin for plugin in of_driver if plugin.is_connected),
            of_driver[0] if of_driver else None,
        )

    def is_connected(self, driver: str) -> bool:
        return any(plugin.driver == driver and plugin.is_connected for plugin in self._plugins)

    async def _serve(self, socket: Socket) -> NoReturn:
        """Register one socket, and hold the connection for as long as the socket is there."""
        failures = 0
        while True:
            try:
                async with self._registered(socket) as plugin:
                    failures = 0
                    await plugin.follow_connection(self._connection_changed)
            except (PluginCallError, RegistrationError) as error:
                failures += 1
                seconds = self.timings.registration_back_off.seconds(failures)
                log.warning(
                    "driver not registered",
                    socket=socket.path,
                    error=str(error),
                    retry_seconds=seconds,
                )
                await asyncio.sleep(seconds)

    def _connection_changed(self, plugin: Plugin) -> None:
        log.info("driver connection", driver=plugin.driver, is_connected=plugin.is_connected)
        self.changed(plugin.driver)

    @asynccontextmanager
    async def _registered(self, socket: Socket) -> AsyncIterator[Plugin]:
        """Hold a driver's registration.

        Raises:
            PluginCallError: a socket's path is too long.
            RegistrationError: the plugin does not answer, or not as it should.

        """
        async with unix_channel(socket.path) as channel:
            plugin = await self._accept(channel)
            self._plugins.append(plugin)
            self.changed(plugin.driver)
            try:
                await self._notify(channel, wire.RegistrationStatus(plugin_registered=True))
                log.info("driver registered", driver=plugin.driver, endpoint=plugin.endpoint)
                yield plugin
            finally:
                self._plugins.remove(plugin)
                self.changed(plugin.driver)
                await plugin.close()

    async def _accept(self, channel: grpc.aio.Channel) -> Plugin:
        """Ask a plugin who it is and take it, or tell it why not."""
        await self._dial(channel)
        get_info = channel.unary_unary(
            f"{REGISTRATION}/GetInfo",
            request_serializer=wire.InfoRequest.SerializeToString,
            response_deserializer=wire.PluginInfo.FromString,
        )
        try:
            info = await get_info(wire.InfoRequest(), timeout=self.timings.get_info_seconds)
        except grpc.aio.AioRpcError as error:
            raise RegistrationError(f"GetInfo: {error.code().name}: {error.details()}") from error
        try:
            return self._plugin_of(info)
        except (PluginCallError, RegistrationError) as refusal:
            status = wire.RegistrationStatus(plugin_registered=False, error=str(refusal))
            # A plugin may answer bad news with an error of its own: there is nothing to add.
            with suppress(RegistrationError):
                await self._notify(channel, status)
            raise

    def _plugin_of(self, info: wire.PluginInfo) -> Plugin:
        if info.type != PLUGIN_TYPE:
            raise RegistrationError(f"no handler for plugin type {info.type!r}")
        if not info.name or not info.endpoint:
            raise RegistrationError(
                f"name and endpoint are required: {info.name!r} {info.endpoint!r}"
            )
        service = choose_service(info.supported_versions)
        if service is None:
            versions = ", ".join(info.supported_versions) or "none"
            raise RegistrationError(f"none of the supported versions is known: {versions}")
        for plugin in self._plugins:
            if (plugin.driver, plugin.endpoint) == (info.name, info.endpoint):
                raise RegistrationError(
                    f"endpoint {info.endpoint} already registered for driver {info.name}"
                )
        return Plugin(info.name, info.endpoint, service)

    async def _dial(self, channel: grpc.aio.Channel) -> None:
        """Connect; a stale socket refuses at once and is not worth the whole time."""
        try:
            async with asyncio.timeout(self.timings.dial_seconds):
                state = channel.get_state(try_to_connect=True)
                while state is not grpc.ChannelConnectivity.READY:
                    if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                        raise RegistrationError("connection refused")
                    await channel.wait_for_state_change(state)
                    state = channel.get_state(try_to_connect=True)
        except TimeoutError as error:
            raise RegistrationError(f"no connection in {self.timings.dial_seconds} s") from error

    async def _notify(self, channel: grpc.aio.Channel, status: wire.RegistrationStatus) -> None:
        notify = channel.unary_unary(
            f"{REGISTRATION}/NotifyRegistrationStatus",
            request_serializer=wire.RegistrationStatus.SerializeToString,
            response_deserializer=wire.RegistrationStatusResponse.FromString,
        )
        try:
            await notify(status, timeout=self.timings.notify_seconds)
        except grpc.aio.AioRpcError as error:
            raise RegistrationError(
                f"NotifyRegistrationStatus: {error.code().name}: {error.details()}"
            ) from error
