"""Runs the command line in this process, as `python -m dra_console.allocator` would."""

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dra_console.allocator.command.main import main
from dra_console.allocator.model import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run left behind."""

    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        """Lines of the output without indentation, joined where they were wrapped."""
        return [line.strip() for line in self.output.splitlines()]

    @property
    def text(self) -> str:
        """The output as one line, since where it is wrapped does not matter."""
        return " ".join(self.output.split())

    @property
    def json(self) -> JsonObject:
        """The output of `--output json`."""
        parsed: Json = json.loads(self.output)
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs sub-commands; files are made in a folder of their own."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def file(self, content: str | bytes, name: str = "dump.yaml") -> str:
        """Write a file and return its path."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def objects(self, *objects: JsonObject, name: str = "dump.yaml") -> str:
        """Write objects as the list that `kubectl get` prints, and return the path."""
        whole: JsonObject = {"apiVersion": "v1", "kind": "List", "items": [*objects]}
        return self.file(json.dumps(whole), name)

    def run(self, *arguments: str, stdin: bytes = b"", columns: int = 100) -> Ended:
        """Run with arguments, as in a terminal with so many columns."""
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.monkeypatch.setenv("COLUMNS", str(columns))
        self.capsys.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as ended:  # argparse ends by itself
            status = int(str(ended.code))
        captured = self.capsys.readouterr()
        return Ended(status, captured.out, captured.err)
