"""An API server's version, as far as a decision may rest on it.

Only major and minor are compared: providers append what they like (`v1.35.0-gke.1`), and a
semantic comparison takes that for something older than 1.35.0 (node-agent.md 4.1).
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from nodeagent.fields import Fields, JsonObject

GIT_VERSION: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """What `/version` answered."""

    git_version: str
    """As the server spells it: another spelling is another server."""

    minor: tuple[int, int] | None
    """As in `(1, 35)`; `None` if the spelling says nothing."""

    @classmethod
    def of(cls, answer: JsonObject) -> Self:
        """Read `version.Info`.

        Raises:
            FieldError: it is none.

        """
        git_version = Fields(answer, "version").text("gitVersion")
        found = GIT_VERSION.match(git_version)
        return cls(git_version, (int(found[1]), int(found[2])) if found else None)
