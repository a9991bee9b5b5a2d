"""Nodes and devices that had the same happen to them, as one line each.

An explanation accounts for every device. A person reads what differs, how often it occurs
and a few names to start from; the rest is in the JSON.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.explanation.explanation import NodeAccount
from dra_console.allocator.explanation.verdicts import DeviceVerdict, Verdict

NAMES_SHOWN: Final = 3


@dataclass(slots=True)
class NodeGroup:
    """Nodes with one finding, in the order of the explanation."""

    summary: str
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class DeviceGroup:
    """Devices with one verdict for one reason."""

    verdict: Verdict
    evidence: str
    devices: list[str] = field(default_factory=list)


def fold_nodes(accounts: Iterable[NodeAccount]) -> Sequence[NodeGroup]:
    """Group nodes by what is said of them, those that came closest first."""
    groups: dict[tuple[str, str], NodeGroup] = {}
    for account in accounts:
        key = (account.reason, account.summary)
        group = groups.setdefault(key, NodeGroup(account.summary))
        group.names.append(account.name or "no single node")
    return list(groups.values())


def fold_devices(verdicts: Iterable[DeviceVerdict]) -> Mapping[Verdict, Sequence[DeviceGroup]]:
    """Group devices by verdict, the furthest first, and then by evidence, the most first."""
    groups: dict[tuple[Verdict, str], DeviceGroup] = {}
    for each in verdicts:
        evidence = each.evidence.replace(f"device {each.device_id}", "the device")
        if each.holder is not None:
            evidence = f"{evidence} ({each.holder.key})"
        group = groups.setdefault((each.verdict, evidence), DeviceGroup(each.verdict, evidence))
        group.devices.append(f"{each.device_id.pool}/{each.device_id.device}")
    by_verdict: dict[Verdict, list[DeviceGroup]] = {}
    for group in groups.values():
        by_verdict.setdefault(group.verdict, []).append(group)
    return {
        verdict: sorted(by_verdict[verdict], key=lambda group: -len(group.devices))
        for verdict in reversed(Verdict)
        if verdict in by_verdict
    }


def some(names: Sequence[str]) -> str:
    """Write the first few names, and how many more there are."""
    shown = ", ".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
