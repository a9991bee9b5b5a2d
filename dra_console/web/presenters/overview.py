"""The overview's numbers: free now by model, held but idle, held and used over the last hour."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dra_console.mirror.inventory import DeviceState, State
from dra_console.telemetry.readings import HeldAndUsed
from dra_console.telemetry.records import HELD_AND_USED_INTERVAL_SECONDS
from dra_console.web.presenters.lines import Point, area_path, line_path
from dra_console.web.presenters.live_state import LiveState
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.sum_bar import SumBar, sum_bar_of
from dra_console.web.wording import age_in_words, counted, model_in_words

LONGEST_WINDOW: Final = timedelta(hours=1)
SHORTEST_WINDOW: Final = timedelta(minutes=5)
LONGEST_GAP: Final = timedelta(seconds=4 * HELD_AND_USED_INTERVAL_SECONDS)

IDLE_BELOW_PERCENT: Final = 5


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model: how many are free, and where most of them are together."""

    product_name: str
    model: str
    bar: SumBar
    free: int
    total: int
    noun: str
    note: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Held devices that do nothing at this moment."""

    devices: int
    busy: int
    unknown: int
    """Held devices without a fresh reading: they may or may not be idle."""

    def __str__(self) -> str:
        if self.unknown and not self.devices + self.busy:
            return "?"
        return f"{'≥ ' if self.unknown else ''}{self.devices}"


@dataclass(frozen=True, slots=True)
class Chart:
    """Held and used devices over the last hour, or for as long as they have been followed."""

    width_seconds: int
    held_path: str
    used_area: str
    used_path: str
    scale: tuple[datetime, ...]
    """Times at the left, in the middle and at the right."""

    highest: int
    """Value at the top of the chart."""

    summary: str
    table: tuple[HeldAndUsed, ...]
    """One row every five minutes, newest first."""


def model_lines(states: Iterable[DeviceState], *, reader: Reader) -> tuple[ModelLine, ...]:
    """Count per product; those with the most devices come first."""
    by_product: dict[str, list[DeviceState]] = defaultdict(list)
    for state in states:
        if state.counts:
            by_product[state.device.product_name].append(state)
    lines = (_model_line(name, members, reader=reader) for name, members in by_product.items())
    return tuple(sorted(lines, key=lambda line: (-line.total, line.product_name)))


def _model_line(product_name: str, members: Sequence[DeviceState], *, reader: Reader) -> ModelLine:
    free = [state for state in members if state.state is State.FREE]
    per_node = Counter(state.node_name for state in free if state.node_name)
    is_cut = any(state.device.parent for state in members)
    note = ""
    if per_node:
        node_name, most = per_node.most_common(1)[0]
        note = f"{most} on {node_name}" if len(per_node) == 1 else f"most on {node_name}: {most}"
    sizes = {state.device.memory_bytes for state in members}
    memory_bytes = sizes.pop() if len(sizes) == 1 and not is_cut else None
    return ModelLine(
        product_name=product_name,
        model=model_in_words(product_name, memory_bytes),
        bar=sum_bar_of(members, reader=reader),
        free=len(free),
        total=len(members),
        noun="parts" if is_cut else "",
        note=note,
    )


def free_in_words(lines: Iterable[ModelLine]) -> str:
    """Say what is free per model, as in `6 H100 80 GB · 2 A100 parts`."""
    words = (f"{line.free} {line.model} {line.noun}".strip() for line in lines if line.free)
    return " · ".join(words)


def idle_of(states: Iterable[DeviceState], *, live: LiveState) -> Idle:
    """Count held devices whose utilisation is below five per cent now; unknown is not idle."""
    idle = busy = unknown = 0
    for state in states:
        if state.state is not State.HELD:
            continue
        reading = live.reading(state)
        if reading is None or reading.is_stale(live.now) or reading.utilisation_percent is None:
            unknown += 1
        elif reading.utilisation_percent < IDLE_BELOW_PERCENT:
            idle += 1
        else:
            busy += 1
    return Idle(devices=idle, busy=busy, unknown=unknown)


def chart_of(history: Sequence[HeldAndUsed], *, total: int, now: datetime) -> Chart | None:
    """Draw the last hour; nothing while there are not two points to join."""
    points = [point for point in history if point.at >= now - LONGEST_WINDOW]
    if len(points) < 2:  # noqa: PLR2004 - a line has two ends
        return None
    window = max(SHORTEST_WINDOW, now - points[0].at)
    start = now - window
    highest = max(total, *(point.held_devices for point in points))
    held = [Point(point.at, point.held_devices) for point in points]
    used = [Point(point.at, _known_use(point)) for point in points]
    newest = points[-1]
    return Chart(
        width_seconds=round(window.total_seconds()),
        held_path=line_path(held, start=start, highest=highest, longest_gap=LONGEST_GAP),
        used_area=area_path(used, start=start, highest=highest, longest_gap=LONGEST_GAP),
        used_path=line_path(used, start=start, highest=highest, longest_gap=LONGEST_GAP),
        scale=(start, start + window / 2, now),
        highest=highest,
        summary=(
            f"{counted(newest.held_devices, 'device')} held and {_used_in_words(newest)} used now; "
            f"over the last {age_in_words(window)} {min(point.held_devices for point in points)} "
            f"to {max(point.held_devices for point in points)} held"
        ),
        table=_every_five_minutes(points),
    )


def _known_use(point: HeldAndUsed) -> float | None:
    """Tell how much was used; None where nothing is known of any held device."""
    is_unknown = 0 < point.held_devices <= point.unknown_devices
    return None if is_unknown else point.used_devices


def _used_in_words(point: HeldAndUsed) -> str:
    if _known_use(point) is None:
        return "?"
    return f"{'≥ ' if point.unknown_devices else ''}{point.used_devices:.1f}"


def _every_five_minutes(points: Sequence[HeldAndUsed]) -> tuple[HeldAndUsed, ...]:
    by_slot = {int(point.at.timestamp() // 300): point for point in points}
    return tuple(reversed(by_slot.values()))
