"""What users write on their objects for the console to act on them."""

from typing import Final

from dra_console.mirror.placed_pods import SCHEDULER_NAME

__all__ = [
    "CONFIRMED_ANNOTATION",
    "MANAGED_TAINT_KEY",
    "PLACEMENT_ANNOTATION",
    "PRIORITY_ANNOTATION",
    "RESERVE_AHEAD_LABEL",
    "SCHEDULER_NAME",
]

MANAGED_TAINT_KEY: Final = "dra-console.io/managed"
"""Key of the taint, by a DeviceTaintRule and with effect NoSchedule, on devices that only the
console allocates. The console's plans put up with this key, whatever the value; no toleration
of it is written to a claim or to an allocation's result."""

RESERVE_AHEAD_LABEL: Final = "dra-console.io/reserve-ahead"
"""Label of claims that the console allocates before any pod uses them; its value is `true`."""

PLACEMENT_ANNOTATION: Final = "dra-console.io/placement"
"""On a pod, or on a claim that is reserved ahead: which of the nodes that fit is taken; `pack`
(without it), `spread` or `fewest-fragments` (`planning.placements`)."""

PRIORITY_ANNOTATION: Final = "dra-console.io/priority"
"""On a claim that is reserved ahead: a whole number, compared with the priority of pods; 0
without it."""

CONFIRMED_ANNOTATION: Final = "dra-console.io/confirmed"
"""On claims that a pod was bound with that had been reserved by an earlier try (random text).

Written by the console alone; its only use is that the claim gets another version.
"""
