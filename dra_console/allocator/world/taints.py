"""Taints of devices, and which requests put up with them.

NoSchedule and NoExecute both keep a new allocation away from a device; every such taint
needs a toleration of its own. Effect None and effects of a future API keep nobody away.
There is no numeric comparison among device tolerations, unlike those of nodes.

A scheduler that has devices of its own marks them with a taint, which keeps all others away
from them. `ONLY` is the other half: it keeps that scheduler away from all others.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from dra_console.allocator.inventory import (
    NO_EXECUTE,
    NO_SCHEDULE,
    DeviceId,
    DeviceTaintRule,
    Taint,
)
from dra_console.allocator.model import Toleration

BLOCKING_EFFECTS: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})

ONLY: Final = "dra-console.io/Only"
"""Operator of a toleration that no API server stores: it puts up with taints of its key, and
wants no device that has none of them."""


def unmarked(taints: Iterable[Taint], *, tolerations: Sequence[Toleration]) -> str:
    """Return the key of the mark that a request wants devices to have and this one lacks."""
    for toleration in tolerations:
        if toleration.operator == ONLY and all(taint.key != toleration.key for taint in taints):
            return toleration.key
    return ""


def untolerated(taints: Iterable[Taint], *, tolerations: Sequence[Toleration]) -> Taint | None:
    """Return the first taint that keeps the device from a request, or `None`."""
    for taint in taints:
        if taint.effect in BLOCKING_EFFECTS and not any(
            tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Match one toleration with one taint; an unknown operator matches nothing."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in {"Exists", ONLY}:
        return True
    return toleration.operator in {"", "Equal"} and toleration.value == taint.value


def taints_from(rules: Iterable[DeviceTaintRule], *, device_id: DeviceId) -> tuple[Taint, ...]:
    """List the taints that DeviceTaintRules add to a device.

    A rule with an empty selector covers every device.
    """
    return tuple(
        rule.taint
        for rule in rules
        if not rule.selects_nothing
        and rule.driver in {None, device_id.driver}
        and rule.pool in {None, device_id.pool}
        and rule.device in {None, device_id.device}
    )
