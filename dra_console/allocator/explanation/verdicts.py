"""The closed list of verdicts, and a verdict as it is said of many devices at once.

Devices that no claim at hand can tell apart, and whose state of use is the same, get one
judgement. So a fleet of 40,000 devices is judged a few dozen times.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.pools import PublishedDevice


class Verdict(StrEnum):
    """Where a device falls out, the earliest first; `free` if it does not."""

    CLASS_MISMATCH = "class-mismatch"
    SELECTOR_ERROR = "selector-error"
    SELECTOR_MISMATCH = "selector-mismatch"
    TAINTED = "tainted"
    TAKEN = "taken"
    CONSTRAINT = "constraint"
    COUNTERS = "counters"
    NODE_FILTER = "node-filter"
    FREE = "free"


RANKS: Mapping[Verdict, int] = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its evidence in words, true of every device that got it.

    `want` is the want it was judged by. The evidence names neither device nor node, nor who
    holds the device: the first two stand beside it, the last is not for everybody.
    """

    verdict: Verdict
    evidence: str
    want: Want | None = None

    @property
    def request(self) -> str | None:
        """`request` or `request/subrequest` that it was judged by."""
        return self.want.label if self.want else None


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """One device with its judgement: a row of the explanation.

    `holder` is a claim that has the device, of the verdict `taken`.
    """

    published: PublishedDevice
    judgement: Judgement
    holder: ResourceClaim | None = None

    @property
    def device_id(self) -> DeviceId:
        return self.published.id

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def evidence(self) -> str:
        return self.judgement.evidence


def counts_of(judged: Iterable[tuple[Judgement, int]]) -> dict[Verdict, int]:
    """Count devices by verdict; every verdict is present."""
    counts: Counter[Verdict] = Counter()
    for judgement, devices in judged:
        counts[judgement.verdict] += devices
    return {verdict: counts[verdict] for verdict in Verdict}
