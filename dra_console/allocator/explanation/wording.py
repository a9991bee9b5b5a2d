"""Plain words for explanations: one headline, and a detail whose numbers add up."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dra_console.allocator.cel.reads import Read
from dra_console.allocator.explanation.explanation import Together
from dra_console.allocator.explanation.standings import Standing
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import ALL_DEVICES, ResourceClaim
from dra_console.allocator.outcomes import BrokenInput

FUNNEL_WORDS: Final[Mapping[Verdict, tuple[str, str]]] = MappingProxyType(
    {
        Verdict.CLASS_MISMATCH: ("is not of the class", "are not of the class"),
        Verdict.SELECTOR_ERROR: ("fails a selector", "fail a selector"),
        Verdict.SELECTOR_MISMATCH: ("does not match the selectors", "do not match the selectors"),
        Verdict.TAINTED: ("is tainted", "are tainted"),
        Verdict.TAKEN: ("is taken", "are taken"),
        Verdict.CONSTRAINT: ("cannot meet a constraint", "cannot meet a constraint"),
        Verdict.COUNTERS: ("lacks shared counters", "lack shared counters"),
        Verdict.NODE_FILTER: ("is out of reach", "are out of reach"),
        Verdict.FREE: ("is free", "are free"),
    }
)

HELD_UP_WORDS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.TAINTED: "tainted",
        Verdict.TAKEN: "taken",
        Verdict.CONSTRAINT: "without a constrained attribute",
        Verdict.COUNTERS: "short of shared counters",
        Verdict.NODE_FILTER: "out of reach",
    }
)


def devices(count: int) -> str:
    """Count devices in words: `1 device`, `3 devices`."""
    return f"{count} device" if count == 1 else f"{count} devices"


def funnel(counts: Mapping[Verdict, int]) -> str:
    """Say what became of all devices; the numbers add up to the first one."""
    total = sum(counts.values())
    parts = [
        f"{counts[verdict]} {words[0] if counts[verdict] == 1 else words[1]}"
        for verdict, words in FUNNEL_WORDS.items()
        if counts.get(verdict)
    ]
    if not parts:
        return "No node publishes any device."
    return f"Of {devices(total)}, {', '.join(parts)}."


def counted(counts: Mapping[Verdict, int]) -> str:
    """Say what became of the devices of one node, the furthest first."""
    parts = []
    for verdict in reversed(Verdict):
        one, several = FUNNEL_WORDS[verdict]
        if counts[verdict]:
            parts.append(f"{counts[verdict]} {one if counts[verdict] == 1 else several}")
    return ", ".join(parts)


def unknown(read: Read) -> str:
    """Say that no device has what a selector reads."""
    kind = "attribute" if read.group == "attributes" else "capacity"
    return f"No device has the {kind} {read.domain}/{read.name}, which a selector reads."


def together(last: Together) -> str:
    """Say that nothing of what is free fits together, and what is there instead."""
    verb = "device fits" if last.free == 1 else "devices fit"
    return f"0 of {last.free} free {verb} together: on {last.node}, {last.evidence}."


def broken(outcome: BrokenInput, claims: Sequence[ResourceClaim], evidence: str) -> str:
    """Say what is wrong, alike for all claims that are wrong in the same way.

    `evidence` is the clause that fails on the device that the outcome names.
    """
    if outcome.device is not None and evidence:
        return f"On device {outcome.device}, {evidence}."
    message = outcome.message
    for claim in claims:
        message = message.removeprefix(f"claim {claim.key}, ").removeprefix(f"claim {claim.key}: ")
    return sentence(message)


def spoiled(fits_on: str) -> str:
    """Say why an error on one node matters to claims that fit on another."""
    return f"It fits on {fits_on}, but kube-scheduler gives up at an error on any node."


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def names(chosen: Sequence[DeviceId]) -> str:
    """List devices by name, or say that there are none."""
    return ", ".join(each.device for each in chosen) or "no devices"


def headline(standing: Standing, *, closest: Standing, node_name: str) -> str:
    """Name the first decisive reason, for the request that fails.

    `standing` counts the devices of all nodes, `closest` those of the node which came
    closest.
    """
    if standing.matched == 0:
        return _none_matches(standing)
    if standing.free == 0:
        return _none_free(standing)
    if standing.want.wish.allocation_mode == ALL_DEVICES:
        return (
            "it wants all matching devices of a node, but on "
            f"{node_name} only {closest.free} of {closest.wanted} are free"
        )
    if standing.free < standing.wanted:
        return f"only {standing.free} of {standing.wanted} devices wanted are free"
    best = f"the most is {closest.free}, on {node_name}"
    return free_but(standing.free, f"no node has {standing.wanted}; {best}")


def free_but(free: int, reason: str) -> str:
    """Say that devices are free, and yet."""
    return f"{devices(free)} {'is' if free == 1 else 'are'} free, but {reason}"


def _none_matches(standing: Standing) -> str:
    counts = standing.counts
    total = sum(counts.values())
    class_name = standing.want.wish.device_class_name
    if counts.get(Verdict.SELECTOR_ERROR):
        return f"a selector fails: {standing.examples[Verdict.SELECTOR_ERROR]}"
    if counts.get(Verdict.SELECTOR_MISMATCH):
        of_class = devices(total - counts.get(Verdict.CLASS_MISMATCH, 0))
        return f"none of the {of_class} of class {class_name} matches the selectors"
    return f"none of {devices(total)} is of class {class_name}"


def _none_free(standing: Standing) -> str:
    present = [words for verdict, words in HELD_UP_WORDS.items() if standing.counts.get(verdict)]
    joined = " or ".join([", ".join(present[:-1]), present[-1]] if present[1:] else present)
    is_one = standing.matched == 1
    who = (
        "the only matching device is" if is_one else f"all {standing.matched} matching devices are"
    )
    furthest = standing.furthest
    example = "" if furthest is Verdict.TAKEN else f" ({standing.examples[furthest]})"
    return f"{who} {joined}{example}"
