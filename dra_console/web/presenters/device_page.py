"""One device: what it is, what it does now, who has it and who had it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.inventory import DeviceState, Taint
from dra_console.mirror.models import DeviceAssignment
from dra_console.telemetry.readings import STALE_AFTER_SECONDS, Reading
from dra_console.web.presenters.boards import AgentNote, agent_note, part_label
from dra_console.web.presenters.lines import Point, line_path
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.sum_bar import LABELS
from dra_console.web.presenters.tiles import (
    HIDDEN_HOLDER,
    Look,
    ShownHolder,
    Tile,
    look_of,
    look_of_taint,
    model_of,
    shown_holders,
    taint_age_in_words,
    taint_in_words,
    tile_of,
)

WINDOW: Final = timedelta(minutes=15)
LONGEST_GAP: Final = timedelta(seconds=STALE_AFTER_SECONDS)


@dataclass(frozen=True, slots=True)
class Fact:
    """A published attribute or capacity."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ShownTaint:
    """A taint, and who set it."""

    words: str
    key: str
    value: str
    effect: str
    look: Look
    keeps_off: bool
    age: str
    """Empty: it does not say since when."""

    rule: str
    """Empty: its driver published it."""


@dataclass(frozen=True, slots=True)
class PastHolder:
    """A claim that held the device; `namespace` is empty if the reader may not know it."""

    label: str
    assigned_at: datetime
    released_at: datetime
    held_for: timedelta


@dataclass(frozen=True, slots=True)
class UtilisationLine:
    """The last 15 minutes."""

    points: str
    """As `static/js/utilisation-line.js` reads them."""

    path: str
    summary: str
    table: tuple[tuple[datetime, str], ...]
    """One row a minute, newest first."""


@dataclass(frozen=True, slots=True)
class DevicePage:
    """Everything that one device's page shows."""

    key: str
    name: str
    driver: str
    pool: str
    node_name: str
    model: str
    product_name: str
    memory_bytes: int | None
    parent: str
    look: Look
    state_label: str
    reason: str
    is_unknown: bool
    is_stale: bool
    reading: Reading | None
    memory_percent: int | None
    agent: AgentNote
    holders: tuple[ShownHolder, ...]
    past: tuple[PastHolder, ...]
    taints: tuple[ShownTaint, ...]
    facts: tuple[Fact, ...]
    partitions: tuple[tuple[str, Tile], ...]
    """Label and tile of those that can exist side by side on the same GPU."""


def device_page(
    state: DeviceState,
    *,
    siblings: Iterable[DeviceState],
    past: Iterable[DeviceAssignment],
    reader: Reader,
    live: LiveState,
) -> DevicePage:
    """Draw one device; `siblings` are all devices of its pool."""
    device = state.device
    reading = live.reading(state)
    look = look_of(state, reader=reader)
    gpu = device.parent or device.name
    return DevicePage(
        key="/".join(state.key),
        name=device.name,
        driver=device.driver,
        pool=device.pool,
        node_name=device.node_name,
        model=model_of(device),
        product_name=device.product_name,
        memory_bytes=device.memory_bytes,
        parent=device.parent,
        look=look,
        state_label=LABELS[look],
        reason=state.reason,
        is_unknown=live.is_unknown(state),
        is_stale=reading is not None and reading.is_stale(live.now),
        reading=reading,
        memory_percent=_memory_percent(reading),
        agent=agent_note(device.node_name, live=live),
        holders=shown_holders(state.holders, reader=reader),
        past=tuple(_past_holder(one, reader=reader) for one in past if one.released_at),
        taints=tuple(_shown_taint(taint, now=live.now) for taint in state.taints),
        facts=(*_facts(device.attributes), *_facts(device.capacity)),
        partitions=tuple(
            (part_label(one), tile_of(one, reader=reader, live=live))
            for one in siblings
            if one.device.parent == gpu and one.counts
        ),
    )


def utilisation_line(
    history: Sequence[tuple[datetime, int | None]], *, now: datetime
) -> UtilisationLine:
    """Draw a device's recent utilisation; gaps stay gaps."""
    start = now - WINDOW
    points = [Point(at, percent) for at, percent in history if at >= start]
    known = [point.value for point in points if point.value is not None]
    return UtilisationLine(
        points=" ".join(
            f"{point.at.timestamp():.0f}:{'' if point.value is None else f'{point.value:.0f}'}"
            for point in points
        ),
        path=line_path(points, start=start, highest=100, longest_gap=LONGEST_GAP),
        summary=(
            f"between {min(known):.0f} % and {max(known):.0f} %, on average "
            f"{sum(known) / len(known):.0f} %"
            if known
            else "not reported"
        ),
        table=_one_a_minute(points),
    )


def _one_a_minute(points: Sequence[Point]) -> tuple[tuple[datetime, str], ...]:
    by_minute = {point.at.replace(second=0, microsecond=0): point for point in points}
    return tuple(
        (point.at, "not reported" if point.value is None else f"{point.value:.0f} %")
        for point in reversed(by_minute.values())
    )


def _memory_percent(reading: Reading | None) -> int | None:
    if reading is None or reading.memory_used_bytes is None or not reading.memory_total_bytes:
        return None
    return round(100 * reading.memory_used_bytes / reading.memory_total_bytes)


def _past_holder(assignment: DeviceAssignment, *, reader: Reader) -> PastHolder:
    released_at = assignment.released_at or assignment.assigned_at
    is_seen = reader.sees(assignment.claim_namespace)
    return PastHolder(
        label=f"{assignment.claim_namespace}/{assignment.claim_name}" if is_seen else HIDDEN_HOLDER,
        assigned_at=assignment.assigned_at,
        released_at=released_at,
        held_for=released_at - assignment.assigned_at,
    )


def _shown_taint(taint: Taint, *, now: datetime) -> ShownTaint:
    return ShownTaint(
        words=taint_in_words(taint),
        key=taint.key,
        value=taint.value,
        effect=taint.effect,
        look=look_of_taint(taint),
        keeps_off=taint.keeps_off,
        age=taint_age_in_words(taint, now=now),
        rule=taint.rule,
    )


def _facts(published: JsonObject) -> tuple[Fact, ...]:
    return tuple(
        Fact(name=name, value=_value_in_words(value)) for name, value in sorted(published.items())
    )


def _value_in_words(value: Json) -> str:
    """Say `{"string": "x"}`, `{"bool": true}` or `{"value": "80Gi"}` without its wrapping."""
    inner = next(iter(value.values()), "") if isinstance(value, dict) else value
    if isinstance(inner, bool):
        return "yes" if inner else "no"
    if isinstance(inner, list):
        return ", ".join(str(entry) for entry in inner)
    return str(inner)
