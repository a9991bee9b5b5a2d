"""One bar whose parts are the whole, and the sum in words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dra_console.mirror.inventory import DeviceState
from dra_console.mirror.tallies import Tally, tally
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Look, look_of
from dra_console.web.wording import counted

LABELS: Mapping[Look, str] = {
    Look.MINE: "held by your teams",
    Look.HELD: "held",
    Look.FREE: "free",
    Look.WARN: "tainted by a rule",
    Look.SICK: "tainted by the driver",
    Look.UNAVAILABLE: "unavailable",
}
"""In the order in which the bar shows them."""


PATTERNS: Mapping[Look, str] = {
    Look.FREE: "pattern-free",
    Look.UNAVAILABLE: "pattern-unavailable",
}
"""See `templates/web/_patterns.html`."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the bar; offset and width are per cent of the whole."""

    look: Look
    label: str
    count: int
    pattern: str
    """Id of the SVG pattern that fills it; empty where a colour does."""

    offset_percent: str
    width_percent: str


@dataclass(frozen=True, slots=True)
class SumBar:
    """Devices by state: the parts that are not empty, in a fixed order."""

    parts: tuple[Part, ...]
    free: int
    total: int
    words: str
    """The sum, as in `38 devices and 9 partitions = 26 held + 16 free + 5 tainted`."""


def sum_bar_of(
    states: Iterable[DeviceState], *, reader: Reader, is_lower_bound: bool = False
) -> SumBar:
    """Draw the devices that exist side by side; others would be counted twice."""
    counting = [state for state in states if state.counts]
    number = Counter(look_of(state, reader=reader) for state in counting)
    parts: list[Part] = []
    before = 0
    for look in LABELS:
        if count := number[look]:
            parts.append(
                Part(
                    look=look,
                    label=LABELS[look],
                    count=count,
                    pattern=PATTERNS.get(look, ""),
                    offset_percent=f"{100 * before / len(counting):.3f}",
                    width_percent=f"{100 * count / len(counting):.3f}",
                )
            )
            before += count
    sign = "≥ " if is_lower_bound else ""
    return SumBar(
        parts=tuple(parts),
        free=number[Look.FREE],
        total=len(counting),
        words=sign
        + sum_in_words(
            tally(counting), partitions=sum(bool(state.device.parent) for state in counting)
        ),
    )


def sum_in_words(numbers: Tally, *, partitions: int) -> str:
    """Say a tally as a sum; states without devices are left out.

    `partitions` of the devices are parts of a GPU: they come and go, so they are told apart.
    """
    amounts = (
        (numbers.held, "held"),
        (numbers.free, "free"),
        (numbers.tainted, "tainted"),
        (numbers.unavailable, "unavailable"),
    )
    terms = " + ".join(f"{amount} {word}" for amount, word in amounts if amount)
    nouns = ((numbers.total - partitions, "device"), (partitions, "partition"))
    whole = " and ".join(counted(amount, noun) for amount, noun in nouns if amount)
    return f"{whole} = {terms}" if terms else "no devices"
