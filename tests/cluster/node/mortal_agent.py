"""`python -m tests.cluster.node.mortal_agent`: the agent, except that it can be made to die.

`DIES_AT` names a file. If it is there when a claim's entry is written, and names that state and
`before` or `after`, the process ends by SIGKILL at this write; the file is gone then, so that the
next agent lives. `AGENT_VERSION`, if set, is the version that the agent says it has.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

import nodeagent

if "AGENT_VERSION" in os.environ:
    nodeagent.__version__ = os.environ["AGENT_VERSION"]

from nodeagent.__main__ import main
from nodeagent.claims.entry import Entry
from nodeagent.claims.ledger import Ledger

DIES_AT = Path(os.environ["DIES_AT"])


PUT = Ledger.put


def put(ledger: Ledger, entry: Entry) -> None:
    """Write an entry, which may be the last thing that this process does."""
    _die_if_told(f"before {entry.state.value}")
    PUT(ledger, entry)
    _die_if_told(f"after {entry.state.value}")


def _die_if_told(moment: str) -> None:
    with suppress(FileNotFoundError):
        if DIES_AT.read_text() == moment:
            DIES_AT.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Ledger.put = put  # type: ignore[assignment,method-assign]
    main()
