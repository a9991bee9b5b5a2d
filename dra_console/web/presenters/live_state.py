"""Readings and agents at the moment a page is made.

Where Redis does not answer, nothing is known: pages still come, with every reading
marked as unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import redis

from dra_console.mirror.inventory import DeviceState, State
from dra_console.telemetry import store
from dra_console.telemetry.readings import AgentStatus, DeviceKey, Reading


@dataclass(frozen=True, slots=True)
class LiveState:
    """What agents reported last, seen from `now`."""

    now: datetime
    readings: Mapping[DeviceKey, Reading]
    agents: Mapping[str, AgentStatus]
    """By node name."""

    is_reachable: bool
    """False: the store did not answer; absence says nothing about agents then."""

    def reading(self, state: DeviceState) -> Reading | None:
        """Give a device's latest reading, however old."""
        return self.readings.get(DeviceKey(*state.key))

    def is_unknown(self, state: DeviceState) -> bool:
        """Tell whether what the device does now is not known: no reading, or an old one."""
        reading = self.reading(state)
        if reading is not None:
            return reading.is_stale(self.now)
        agent = self.agents.get(state.node_name)
        return agent is None or agent.is_stale(self.now)


@dataclass(frozen=True, slots=True)
class Used:
    """How much of some held devices is used, in devices: two at 50 % are 1.0."""

    devices: float
    known: int
    """How many of them reported."""

    unknown: int
    """How many did not: with any, `devices` is a lower bound."""

    def __str__(self) -> str:
        if self.unknown and not self.known:
            return "?"
        return f"{'≥ ' if self.unknown else ''}{self.devices:.1f}"


def read_live_state(cluster_id: int, *, now: datetime) -> LiveState:
    """Read every device's latest values and every node's agent, in two round trips."""
    try:
        readings, agents = store.latest(cluster_id), store.agents(cluster_id)
    except redis.RedisError:
        return LiveState(now=now, readings={}, agents={}, is_reachable=False)
    return LiveState(now=now, readings=readings, agents=agents, is_reachable=True)


def used_of(states: Iterable[DeviceState], *, live: LiveState) -> Used:
    """Add up the utilisation of the held devices among these."""
    held = [state for state in states if state.state is State.HELD]
    percents = [_known_percent(state, live=live) for state in held]
    known = [percent for percent in percents if percent is not None]
    return Used(devices=sum(known) / 100, known=len(known), unknown=len(held) - len(known))


def _known_percent(state: DeviceState, *, live: LiveState) -> int | None:
    reading = live.reading(state)
    if reading is None or reading.is_stale(live.now):
        return None
    return reading.utilisation_percent
