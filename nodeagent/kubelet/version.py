"""What the node's kubelet is, and what its version keeps us from relying on.

Providers append what they like to a version (`v1.34.1-gke.100`), and a kubelet is never asked:
it writes its version into its Node.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from nodeagent.fields import Fields, JsonObject

VERSION: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?!\d)", re.ASCII)
ROLLING_UPDATES: Final = (1, 33)
"""The first one that keeps two sockets of one driver apart."""

IDLE_DEADLOCK: Final = ((1, 34, 0), (1, 34, 1))
"""These stop calling a plugin after half an hour without calls, for ever (fixed in 1.34.2)."""


@dataclass(frozen=True, slots=True)
class KubeletVersion:
    """As in `status.nodeInfo.kubeletVersion` of a Node."""

    text: str
    number: tuple[int, int, int] | None
    """As in `(1, 34, 2)`; `None` if the text says nothing."""

    @classmethod
    def of(cls, node: JsonObject) -> Self:
        """Read a Node; one whose kubelet has not reported yet has an empty version.

        Raises:
            FieldError: it is no Node.

        """
        status = Fields(node, "Node").optional_object("status")
        info = status and status.optional_object("nodeInfo")
        return cls.parse((info and info.optional_text("kubeletVersion")) or "")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a version as kubelet spells it."""
        found = VERSION.match(text)
        if found is None:
            return cls(text, None)
        return cls(text, (int(found[1]), int(found[2]), int(found[3] or 0)))

    @property
    def takes_rolling_updates(self) -> bool:
        """Whether two agents may be registered at once; not where nothing is known."""
        return self.number is not None and self.number[:2] >= ROLLING_UPDATES

    @property
    def deadlocks_when_idle(self) -> bool:
        """Whether pods will hang in ContainerCreating although every plugin is well."""
        return self.number in IDLE_DEADLOCK
