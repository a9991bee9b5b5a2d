"""What an explanation says in words: what decides, and how the devices add up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.explanation import wording
from dra_console.allocator.explanation.explanation import Together
from dra_console.allocator.explanation.findings import Finding
from dra_console.allocator.explanation.grouping import counts_in, seen
from dra_console.allocator.explanation.judgements import DriftingDevice, Judgements, NodeClass
from dra_console.allocator.explanation.standings import standing_of
from dra_console.allocator.explanation.unknown_names import unknown_names
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.world.index import Index


@dataclass(frozen=True, slots=True)
class Sentences:
    """Those of one set of claims in one world; `classes` and `drifting` hold all devices."""

    index: Index
    judgements: Judgements
    classes: Sequence[NodeClass]
    drifting: Sequence[DriftingDevice]

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """Count all devices by verdict."""
        return counts_in(self.classes, self.drifting)

    def headline(
        self, nearest: tuple[Finding, str] | None, *, left_out: Mapping[str, str]
    ) -> tuple[str, Together | None]:
        """Say what decides, and the last step of the funnel if that is a matter of a set.

        `nearest` is the finding about the node that came closest, and the node's name; `left_out`
        says of nodes, by name, why they may not be used.
        """
        counts = self.counts
        if not any(counts.values()):
            return "No node publishes any device.", None
        if nearest is None:
            reason = "; ".join(sorted(set(left_out.values()))) or "none is there"
            return wording.sentence(f"no node may be used: {reason}"), None
        finding, name = nearest
        free = counts[Verdict.FREE]
        together = Together(free, name, finding.reason, finding.evidence, finding.limit)
        if finding.standing is None:
            return wording.sentence(wording.free_but(free, finding.together)), together
        want = finding.standing.want
        everywhere = standing_of(
            want, self.judgements.everywhere(want, self.classes, self.drifting)
        )
        text = wording.headline(everywhere, closest=finding.standing, node_name=name)
        is_one_of_several = len(self.judgements.judge.wants) > 1
        if is_one_of_several:
            text = f"{self.judgements.judge.name_of(want)}: {text}"
        return wording.sentence(text), together if everywhere.is_enough else None

    def broken(self, broken: BrokenInput, claims: Sequence[ResourceClaim]) -> str:
        """Say what is broken, and which clause of which selector fails if it is one."""
        return wording.broken(broken, claims, self._evidence(broken.device))

    def detail(self, together: Together | None = None) -> str:
        """Add up the verdicts, after what the selectors read and no device has."""
        devices = [published for published, _ in seen(self.classes, self.drifting)]
        unknown = unknown_names(self.judgements.judge.wants, devices) if devices else ()
        words = [*map(wording.unknown, unknown), wording.funnel(self.counts)]
        if together is not None:
            words.append(wording.together(together))
        return " ".join(words)

    def _evidence(self, device_id: DeviceId | None) -> str:
        if device_id is None:
            return ""
        pool = self.index.inventory.pool(device_id.pool_id)
        for published in (each for slice_ in pool.slices for each in slice_.devices):
            judgement = self.judgements.of(published)
            if published.id == device_id and judgement.verdict is Verdict.SELECTOR_ERROR:
                return judgement.evidence
        return ""
