from pathlib import Path

import pytest

from tests.unit.allocator.command_line import CommandLine


@pytest.fixture
def command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    return CommandLine(tmp_path, capsys, monkeypatch)
