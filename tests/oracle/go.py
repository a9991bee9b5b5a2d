"""The Go program that answers with Kubernetes' own code: built on demand, asked over a pipe."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Final, Self

import pytest

from dra_console.allocator.api_json import JsonObject

MODULE: Final = Path(__file__).parent
BINARY: Final = MODULE / "bin" / "oracle"
NO_GO: Final = "the oracle is a Go program and there is no `go` here (Go 1.26 or newer builds it)"


class OracleError(Exception):
    """The oracle cannot be built, or ended in the middle of its answers."""


@cache
def oracle_binary() -> Path:
    """Build the oracle if its sources changed; a test that asks is skipped where Go is missing.

    With `CI=true` it fails instead, so that the comparison cannot vanish unseen.
    """
    if shutil.which("go") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(NO_GO)
    return build()


def build() -> Path:
    """Build the oracle; Go itself knows what is up to date.

    Raises:
        OracleError: there is no Go, or the build failed.

    """
    if shutil.which("go") is None:
        raise OracleError(NO_GO)
    BINARY.parent.mkdir(exist_ok=True)
    # Test workers build at the same time: each moves a whole file into place.
    own = BINARY.with_name(f"oracle.{os.getpid()}")
    built = subprocess.run(
        ["go", "build", "-o", own, "."], cwd=MODULE, capture_output=True, text=True, check=False
    )
    if built.returncode:
        raise OracleError(f"go build failed:\n{built.stderr}")
    own.replace(BINARY)
    return BINARY


class Oracle:
    """A running oracle. It answers in the order in which it is asked."""

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen(
            [binary, "batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, line: str) -> JsonObject:
        """Ask for the answer to one scenario line."""
        return next(self.answers([line]))

    def answers(self, lines: Iterable[str]) -> Iterator[JsonObject]:
        """Ask for all; the oracle works ahead while its answers are read.

        Raises:
            OracleError: the program ended.

        """
        asked, answered = _pipes(self._process)
        waiting = list(lines)

        def write() -> None:
            for line in waiting:
                asked.write(f"{line}\n".encode())
            asked.flush()

        writer = Thread(target=write, daemon=True)
        writer.start()
        for _ in waiting:
            answer = answered.readline()
            if not answer:
                raise OracleError("the oracle ended without an answer; see its standard error")
            yield json.loads(answer)
        writer.join()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
