"""Compatibility groups: which devices may draw on one counter set beside each other.

KEP-4815, gate DRADeviceCompatibilityGroups. A device names up to two groups for each counter
set that it draws on. All devices on a set have to have a group in common, so what is kept for
a set is the intersection over its devices. A device without groups goes together only with
others without, which an intersection cannot say: that state is kept apart, as `None`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dra_console.allocator.inventory import CounterSet

Groups: TypeAlias = frozenset[str] | None
"""What the devices on a counter set have in common; `None` if none of them names a group."""

GroupsOfSets: TypeAlias = dict[str, Groups]
"""By counter set; a set that no device draws on is missing."""


def groups_in_use(drawing: Iterable[tuple[CounterSet, ...]]) -> GroupsOfSets:
    """Start from what each allocated device draws. Stored devices are not judged again."""
    common: GroupsOfSets = {}
    for draws in drawing:
        for consumed in draws:
            common[consumed.name] = _with(common, consumed)
    return common


def joined(common: Mapping[str, Groups], draws: Iterable[CounterSet]) -> GroupsOfSets | None:
    """Return the sets' groups with one more device, or `None` if it may not join them."""
    after = dict(common)
    for consumed in draws:
        if not _admits(after, consumed):
            return None
        after[consumed.name] = _with(after, consumed)
    return after


def _admits(common: Mapping[str, Groups], consumed: CounterSet) -> bool:
    if consumed.name not in common:
        return True
    groups = common[consumed.name]
    if groups is None or not consumed.compatibility_groups:
        return groups is None and not consumed.compatibility_groups
    return not groups.isdisjoint(consumed.compatibility_groups)


def _with(common: Mapping[str, Groups], consumed: CounterSet) -> Groups:
    if consumed.name not in common:
        return frozenset(consumed.compatibility_groups) or None
    groups = common[consumed.name]
    if groups is None or not consumed.compatibility_groups:
        return groups
    return groups & frozenset(consumed.compatibility_groups)
