"""The agent as kubelet sees it: made, started and stopped in the order that kubelet needs.

What kubelet may call is there before the socket that makes it call; what tells it things ends
before the sockets go (node-agent.md 0.3, 0.6).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeAlias

from nodeagent.claims.preparer import Preparer
from nodeagent.health.report import Reports
from nodeagent.kubelet.health import SERVICES as HEALTH_SERVICES
from nodeagent.kubelet.health import Health
from nodeagent.kubelet.liveness import Liveness
from nodeagent.kubelet.plugin import Plugin
from nodeagent.kubelet.registration import Registration
from nodeagent.kubelet.server import Servers
from nodeagent.kubelet.sockets import SocketPaths
from nodeagent.kubelet.stale_sockets import remove_left_behind
from nodeagent.kubelet.watch import RegistryWatch

Begin: TypeAlias = Callable[[str, Callable[[], None]], object]
"""Runs a named part of the agent on a thread; its failure ends the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """One driver's services on this node."""

    driver: str
    servers: Servers
    liveness: Liveness
    watch: RegistryWatch

    @classmethod
    def of(  # noqa: PLR0913 - the parts of an agent that kubelet has to do with
        cls,
        driver: str,
        *,
        paths: SocketPaths,
        pool: str,
        preparer: Preparer,
        reports: Reports,
        on_registered: Callable[[], None],
        health_port: int,
    ) -> Self:
        """Make all services; nothing is bound yet."""
        health = Health(reports, pool)
        registration = Registration(
            driver,
            endpoint=str(paths.dra),
            on_registered=on_registered,
            optional_services=HEALTH_SERVICES,
        )
        handlers = (*Plugin(preparer).handlers(), *health.handlers())
        servers = Servers(paths, registration.handler(), handlers)
        return cls(
            driver=driver,
            servers=servers,
            liveness=Liveness(paths, health_port, registration.is_registered),
            watch=RegistryWatch(servers, registration, on_peers=health.repeat),
        )

    def start(self, begin: Begin) -> None:
        """Let kubelet find the agent.

        Raises:
            KubeletError: a socket or the port cannot be bound.

        """
        remove_left_behind(self.servers.paths, driver=self.driver)
        self.servers.start()
        self.liveness.start()
        begin("registry", self.watch.run)

    def stop(self) -> None:
        """Take no new calls, and let the running ones finish."""
        self.watch.stop()
        self.liveness.stop()
        self.servers.stop()
