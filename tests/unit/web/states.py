"""Device states and live readings as presenters take them, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dra_console.mirror.inventory import DeviceState, Holder, State, Taint
from dra_console.mirror.models import Device
from dra_console.telemetry.messages import Source
from dra_console.telemetry.readings import AgentStatus, DeviceKey, Reading
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
DRIVER = "gpu.nvidia.com"
GIBIBYTE = 2**30

EVERYBODY = Reader(namespaces=None)
RESEARCH = Reader(namespaces=frozenset({"team-research"}))


def a_holder(namespace: str = "team-research", name: str = "train", **fields: object) -> Holder:
    defaults: dict[str, object] = {
        "claim_uid": f"uid-{name}",
        "claim_namespace": namespace,
        "claim_name": name,
        "request": "gpu",
        "share_id": "",
        "admin_access": False,
        "assigned_at": NOW - timedelta(hours=1),
    }
    return Holder(**{**defaults, **fields})  # type: ignore[arg-type]  # the test gives the fields' own types


def a_taint(key: str = "gpu.nvidia.com/xid", **fields: str) -> Taint:
    defaults = {"value": "79", "effect": "NoSchedule", "time_added": "", "rule": ""}
    return Taint(key, **{**defaults, **fields})


def a_state(  # noqa: PLR0913  a builder has one default for each thing a test may state
    name: str = "gpu-0",
    *,
    node: str = "gpu-01",
    product: str = "NVIDIA H100 80GB HBM3",
    memory_gibibytes: int | None = 80,
    parent: str = "",
    attributes: dict[str, object] | None = None,
    state: State | None = None,
    holders: tuple[Holder, ...] = (),
    taints: tuple[Taint, ...] = (),
    reason: str = "",
    counts: bool = True,
) -> DeviceState:
    """Free unless held by a claim or told otherwise."""
    is_held = any(not holder.admin_access for holder in holders)
    return DeviceState(
        device=Device(
            driver=DRIVER,
            pool=node or "shared",
            name=name,
            node_name=node,
            product_name=product,
            memory_bytes=None if memory_gibibytes is None else memory_gibibytes * GIBIBYTE,
            parent=parent,
            attributes=attributes or {},
        ),
        state=state or (State.HELD if is_held else State.FREE),
        holders=holders,
        taints=taints,
        reason=reason,
        is_blocked=False,
        counts=counts,
    )


def a_reading(*, age_seconds: float = 1, **fields: Any) -> Reading:
    at = NOW - timedelta(seconds=age_seconds)
    usual = Reading(
        taken_at=at,
        received_at=at,
        utilisation_percent=97,
        memory_used_bytes=55 * GIBIBYTE,
        memory_total_bytes=80 * GIBIBYTE,
        power_milliwatts=412_000,
        temperature_celsius=61,
        sm_clock_megahertz=1980,
    )
    return replace(usual, **fields)


def an_agent(node: str = "gpu-01", *, age_seconds: float = 1) -> AgentStatus:
    return AgentStatus(
        node_name=node,
        version="0.1.0",
        source=Source.SIMULATED,
        driver=DRIVER,
        pool=node,
        connected_at=NOW - timedelta(hours=1),
        last_seen_at=NOW - timedelta(seconds=age_seconds),
    )


def live_state(*agents: AgentStatus, is_reachable: bool = True, **readings: Reading) -> LiveState:
    """Readings are by device name, `gpu_0` for gpu-0 on gpu-01."""
    return LiveState(
        now=NOW,
        readings={
            DeviceKey(DRIVER, "gpu-01", name.replace("_", "-")): reading
            for name, reading in readings.items()
        },
        agents={agent.node_name: agent for agent in agents},
        is_reachable=is_reachable,
    )
