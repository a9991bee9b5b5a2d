"""What the pods on each node take of it; the console's own counted before the mirror shows them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dra_console.mirror.pod_requests import Amounts
from dra_console.scheduling.planning.node_facts import PODS

NOTHING: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class TakenPod:
    """A pod that a plan has put on a node."""

    node_name: str
    requests: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class NodeUse:
    """Amounts by resource, as the mirror shows them and of pods that it does not show yet."""

    _shown: dict[str, Amounts] = field(default_factory=dict)
    _taken: dict[str, TakenPod] = field(default_factory=dict)
    """By the pod's UID."""

    _total: dict[str, dict[str, int]] = field(default_factory=dict)

    def on(self, node_name: str) -> Amounts:
        """Return what is in use on a node, `pods` included."""
        return self._total.get(node_name, NOTHING)

    def show(self, node_name: str, amounts: Amounts) -> None:
        """Take what the mirror shows of a node now."""
        self._shown[node_name] = amounts
        self._add_up(node_name)

    def take(self, uid: str, taken: TakenPod) -> None:
        """Count a pod on until the mirror shows it, or until it turns out not to be there."""
        self.let_go((uid,))
        self._taken[uid] = taken
        self._add_up(taken.node_name)

    def let_go(self, uids: Iterable[str]) -> set[str]:
        """Count these pods on no more; return the nodes on which any was counted."""
        names = {self._taken.pop(uid).node_name for uid in list(uids) if uid in self._taken}
        for name in names:
            self._add_up(name)
        return names

    def taken(self) -> Mapping[str, TakenPod]:
        """Return the pods that are counted on, by UID."""
        return self._taken

    def _add_up(self, node_name: str) -> None:
        total = dict(self._shown.get(node_name, NOTHING))
        for each in self._taken.values():
            if each.node_name == node_name:
                total[PODS] = total.get(PODS, 0) + 1
                for name, amount in each.requests:
                    total[name] = total.get(name, 0) + amount
        self._total[node_name] = total
