"""The agent as ever, but it writes down what it changes outside itself (`sys.addaudithook`).

`python -m tests.integration.nodeagent.audited FLAGS`; the environment's `AUDIT` names the file.
"""

import json
import os
import sys
from typing import Any

from nodeagent.__main__ import main

CHANGES = {
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.mknod", "os.remove", "os.rename", "os.rmdir",
    "os.symlink", "os.truncate", "shutil.rmtree",
}  # fmt: skip
RUNS = {"os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note a change of the file system, a bound socket's path, or a program that is run."""
    if event == "open" and isinstance(arguments[0], str | bytes) and arguments[2] & WRITES:
        note("writes", arguments[0])
    elif event in CHANGES:
        for path in arguments:
            if isinstance(path, str | bytes | os.PathLike):
                note(event, os.fspath(path))
    elif event in RUNS:
        note("runs", arguments[0])


def note(what: str, subject: object) -> None:
    text = os.fsdecode(subject) if isinstance(subject, bytes) else str(subject)
    os.write(FILE, json.dumps([what, text]).encode() + b"\n")


if __name__ == "__main__":
    FILE = os.open(os.environ["AUDIT"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.addaudithook(watch)
    main()
