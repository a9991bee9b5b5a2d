"""Asks the code that container runtimes have for CDI (`tests/cluster/tools/cdi`)."""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Reference:
    """The program; each call is one run of it."""

    program: Path

    def refusals(self, files: Iterable[Path]) -> list[str | None]:
        """Return for each file why a runtime would leave it out, or `None`."""
        answers = self._ask({"file": str(file)} for file in files)
        return [answer.get("error") for answer in answers]

    def container(self, directories: Iterable[Path], names: Iterable[str]) -> dict[str, Any]:
        """Return what would be added to an empty container: an OCI specification, or an error."""
        question = {"directories": [str(one) for one in directories], "devices": list(names)}
        (answer,) = self._ask([question])
        return answer

    def _ask(self, questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        finished = subprocess.run(
            [self.program],
            input="".join(f"{json.dumps(question)}\n" for question in questions),
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in finished.stdout.splitlines()]
