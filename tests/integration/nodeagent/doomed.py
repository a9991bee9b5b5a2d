"""`python -m nodeagent`, that ends itself by SIGKILL at one operation of its choice.

The environment says which: `DOOMED="replace checkpoint.json 2"` is the second time that a file is
renamed to `checkpoint.json` once the file named by `DOOMED_WHEN` exists. Operations on hardware go
by their names and have no file: `create_partition - 1`. The process dies after the operation.
`DOOMED_BOOT_ID` is a file that says which boot this is.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nodeagent import __main__ as program
from nodeagent import agent
from nodeagent.devices.simulated import SimulatedGpus

DISK = ("replace", "unlink")
HARDWARE = ("create_partition", "destroy_partition")


class Doom:
    """Counts what happens to one file, or on the hardware."""

    def __init__(self, written: str, when: Path) -> None:
        self.operation, self.file, number = written.split()
        self.left = int(number)
        self.when = when

    def watch(self, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            done = original(*arguments, **options)
            files = {Path(one).name for one in arguments if isinstance(one, str | os.PathLike)}
            if operation == self.operation and (self.file == "-" or self.file in files):
                self.pass_by()
            return done

        return run

    def pass_by(self) -> None:
        if self.when.exists():
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run an agent until its operation."""
    doom = Doom(os.environ["DOOMED"], Path(os.environ["DOOMED_WHEN"]))
    for name in DISK:
        setattr(os, name, doom.watch(name, getattr(os, name)))
    for name in HARDWARE:
        setattr(SimulatedGpus, name, doom.watch(name, getattr(SimulatedGpus, name)))
    agent.BOOT_ID = Path(os.environ["DOOMED_BOOT_ID"])  # type: ignore[misc] # a test may
    program.main()


if __name__ == "__main__":
    main()
