"""Answers as something to compare: node and devices of each pod of a stream.

Timing means nothing if the three allocators do not answer the same, so every scenario is
compared before it is timed; share IDs are random and left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.model import AllocationResult


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one pod went. `node` is empty if it fits nowhere."""

    node: str = ""
    devices: tuple[str, ...] = ()
    """`pool/device`, and the amounts of what is shared, in the order of the result."""


NOWHERE = Placement()


class DifferentAnswersError(Exception):
    """Two allocators disagree on a scenario, so that their times cannot be compared."""


def placement(node: str, results: Sequence[AllocationResult]) -> Placement:
    """Write what an allocator of this project answered."""
    return Placement(
        node,
        tuple(
            device_text(each.pool, each.device, each.consumed_capacity or {})
            for result in results
            for each in result.results
        ),
    )


def device_text(pool: str, device: str, consumed: Mapping[str, object]) -> str:
    """Write one device: `node-1/gpu-0` or `node-1/gpu-0 memory=30Gi`."""
    amounts = "".join(f" {name}={amount}" for name, amount in sorted(consumed.items()))
    return f"{pool}/{device}{amounts}"


def compare(scenario: str, answers: Mapping[str, Sequence[Placement]]) -> None:
    """Hold the answers of several allocators against each other, pod by pod.

    Raises:
        DifferentAnswersError: some pod went to another node or got other devices.

    """
    (first, expected), *others = answers.items()
    for name, got in others:
        if len(got) != len(expected):
            raise DifferentAnswersError(
                f"{scenario}: {first} answered {len(expected)} pods, {name} {len(got)}"
            )
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            if one != other:
                raise DifferentAnswersError(
                    f"{scenario}: pod {number}: {first} says {one}, {name} says {other}"
                )
