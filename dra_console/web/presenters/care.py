"""What needs a person: sick devices, silent agents, broken pools, leaking claims."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.urls import reverse

from dra_console.mirror.inventory import DeviceState, State
from dra_console.mirror.models import ClaimState, Node, ResourceClaim
from dra_console.mirror.tallies import PoolNumbers
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.tiles import (
    Look,
    keeping_off,
    look_of_taint,
    taint_age_in_words,
    taint_in_words,
)
from dra_console.web.wording import age_in_words, counted

LEAK_AFTER: Final = timedelta(hours=1)
"""An allocation that no pod has reserved for so long is probably forgotten."""

STUCK_AFTER: Final = timedelta(minutes=10)
"""A deletion that takes so long is waiting for something."""


@dataclass(frozen=True, slots=True)
class Concern:
    """One thing that needs a person."""

    look: Look
    sign: str
    """A word or two, for the pill."""

    headline: str
    detail: str
    address: str | Callable[[], str]
    """Templates call it, of the few that are shown: a fleet may have thousands of concerns."""


def device_concerns(states: Iterable[DeviceState], *, now: datetime) -> list[Concern]:
    """List devices with a taint that keeps claims off, the drivers' own first."""
    concerns = []
    for state in states:
        taint = keeping_off(state.taints)
        if taint is None:
            continue
        age = taint_age_in_words(taint, now=now)
        details = [f"for {age}" if age else "", "held by a claim" if state.holders else "not held"]
        concerns.append(
            Concern(
                look=look_of_taint(taint),
                sign=taint_in_words(taint),
                headline=f"{state.device.pool} {state.device.name} is tainted "
                + (f"by rule {taint.rule}" if taint.rule else "by its driver"),
                detail=" · ".join(detail for detail in details if detail),
                address=partial(reverse, "web:device", args=state.key),
            )
        )
    return sorted(concerns, key=lambda concern: concern.look is not Look.SICK)


def node_concerns(
    states: Iterable[DeviceState], *, nodes: Mapping[str, Node], live: LiveState
) -> list[Concern]:
    """List nodes with devices that are not ready, or whose agent is silent."""
    devices: dict[str, list[DeviceState]] = defaultdict(list)
    for state in states:
        if state.node_name and state.counts:
            devices[state.node_name].append(state)
    concerns = []
    for name in sorted(devices):
        node, agent = nodes.get(name), live.agents.get(name)
        is_well = node is not None and node.ready is not False
        if is_well and (not live.is_reachable or (agent and not agent.is_stale(live.now))):
            continue
        held = sum(state.state is State.HELD for state in devices[name])
        detail = f"{counted(len(devices[name]), 'device')}, {held} held"
        address = partial(reverse, "web:node", args=[name])
        if node is None or node.ready is False:
            problem = "not in the cluster" if node is None else "not ready"
            concerns.append(Concern(Look.SICK, "node", f"{name} is {problem}", detail, address))
        if not live.is_reachable:
            continue
        if agent is None:
            concerns.append(
                Concern(Look.UNAVAILABLE, "no agent", f"no agent heard on {name}", detail, address)
            )
        elif agent.is_stale(live.now):
            age = age_in_words(live.now - agent.last_seen_at)
            concerns.append(
                Concern(
                    Look.UNAVAILABLE, "stale", f"agent on {name} silent for {age}", detail, address
                )
            )
    return concerns


def pool_concerns(pools: Iterable[PoolNumbers]) -> list[Concern]:
    """List pools that are incomplete or broken."""
    return [
        Concern(
            look=Look.WARN,
            sign="pool",
            headline=pool.problem
            or f"{pool.slices_seen} of {pool.slices_expected} slices of pool {pool.pool} seen",
            detail=f"{pool.driver}/{pool.pool}: numbers are lower bounds",
            address=reverse("web:node", args=[pool.node_name]) if pool.node_name else "",
        )
        for pool in pools
        if pool.problem or pool.is_lower_bound
    ]


def claim_concerns(claims: Iterable[ResourceClaim], *, now: datetime) -> list[Concern]:
    """List claims that hold devices for nobody, and deletions that do not end."""
    concerns = []
    for claim in claims:
        since = claim.allocated_at
        stuck_since = claim.deletion_requested_at
        if stuck_since is not None and now - stuck_since > STUCK_AFTER:
            sign, what = "stuck", f"being deleted for {age_in_words(now - stuck_since)}"
        elif claim.state == ClaimState.ALLOCATED and since and now - since > LEAK_AFTER:
            sign, what = "leak", f"allocated, no pod for {age_in_words(now - since)}"
        else:
            continue
        results = (claim.allocation or {}).get("devices", {}).get("results", [])
        concerns.append(
            Concern(
                look=Look.WARN,
                sign=sign,
                headline=f"{claim.namespace}/{claim.name}: {what}",
                detail=f"holds {counted(len(results), 'device')}",
                address=reverse("web:claim", args=[claim.namespace, claim.name]),
            )
        )
    return concerns


def summary_of(concerns: Sequence[Concern]) -> str:
    """Count concerns by their sign, as in `1 XID 79 · 2 stale`."""
    number = Counter(concern.sign for concern in concerns)
    return " · ".join(f"{count} {sign}" for sign, count in number.items())
