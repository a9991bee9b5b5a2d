"""A node with our agent, and the console that looks at it: what every test here stands on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from tests.cluster.node.agent import NodeAgent
from tests.cluster.node.console import Sight
from tests.cluster.node.pods import Pods
from tests.cluster.workloads import eventually

TAIL_LINES: Final = 60

Found = TypeVar("Found")


@dataclass(slots=True)
class Stage(Pods):
    """The cluster's one node, its agent, and the console."""

    agent: NodeAgent
    sight: Sight

    def until_shown(self, look: Callable[[], Found], *, within_seconds: float) -> Found:
        """Wait until the console shows something; fail if that takes longer than it may."""
        began = time.monotonic()
        found = eventually(look)
        took = time.monotonic() - began
        assert took <= within_seconds, f"shown after {took:.1f} s"
        return found

    def logs(self) -> list[tuple[str, str]]:
        """Return the ends of what agents and console wrote, each with its title."""
        logs = sorted(self.cluster.home.folder.glob("logs/agent-*.log"))
        told = [(f"Log of {path.stem}", tail(path.read_text())) for path in logs]
        return [*told, ("Log of the console", tail(self.sight.running.logs()))]


def tail(text: str) -> str:
    """Return the last lines of a log."""
    return "\n".join(text.splitlines()[-TAIL_LINES:])
