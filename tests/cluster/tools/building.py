"""Build what is missing, one build at a time, so that a killed one leaves nothing half done.

Go writes to a name that nobody looks for, and only a whole program gets its own name. The lock
is the kernel's: it goes with the process that held it.
"""

import collections
import contextlib
import fcntl
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.cluster.tools.recipes import Recipe, from_assets

REPORT_SECONDS: Final = 15
ERROR_LINES: Final = 20

Say = Callable[[str], None]


class BuildError(Exception):
    """Go is missing, or did not build a program; the message holds its last lines."""


def missing_programs(recipe: Recipe) -> list[str]:
    """Name the programs that are neither built nor given, in the order of the recipe."""
    return [
        program
        for program in recipe.packages
        if from_assets(program) is None and not os.access(recipe.folder / program, os.X_OK)
    ]


def build(recipe: Recipe, *, go: str, say: Say) -> None:
    """Build the recipe's missing programs into its folder.

    Raises:
        BuildError: Go did not build one; those before it are kept.

    """
    recipe.folder.mkdir(parents=True, exist_ok=True)
    with alone(recipe.folder / ".lock", say=say):
        missing = missing_programs(recipe)
        for number, program in enumerate(missing, start=1):
            say(f"{program}: building ({number} of {len(missing)} in {recipe.name})")
            _build_one(recipe, program, go=go, say=say)


def _build_one(recipe: Recipe, program: str, *, go: str, say: Say) -> None:
    whole = recipe.folder / program
    for stale in recipe.folder.glob(f".{program}.*.part"):
        stale.unlink()
    # A killed build may have left a Go that still writes to its own.
    part = recipe.folder / f".{program}.{os.getpid()}.part"
    started = time.monotonic()
    process = subprocess.Popen(
        [go, "build", "-v", *recipe.flags, "-o", part, recipe.packages[program]],
        cwd=recipe.module,
        env=os.environ | recipe.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        compiled, tail = _follow(process, program, started, say=say)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if process.returncode != 0:
        raise BuildError(f"{program} was not built:\n" + "\n".join(tail))
    part.replace(whole)
    say(f"{program}: built in {_span(started)} ({compiled} packages compiled, the rest cached)")


def _follow(
    process: subprocess.Popen[str], program: str, started: float, *, say: Say
) -> tuple[int, list[str]]:
    """Count Go's lines, one a compiled package, and report now and then until it ends."""
    tail: collections.deque[str] = collections.deque(maxlen=ERROR_LINES)
    compiled = 0
    finished = threading.Event()

    def report() -> None:
        while not finished.wait(REPORT_SECONDS):
            doing = f"{compiled} packages compiled" if compiled else "fetching modules, or linking"
            say(f"{program}: {doing}, {_span(started)} so far")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                tail.append(line.rstrip())
                compiled += not line.startswith("go: ")
        process.wait()
    finally:
        finished.set()
        reporter.join()
    return compiled, list(tail)


@contextlib.contextmanager
def alone(path: Path, *, say: Say) -> Iterator[None]:
    """Keep other builds away by a lock on a file, which may have to be waited for."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another build is running in {path.parent}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _span(started: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
