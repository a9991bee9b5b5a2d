from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.allocator.command_line import CommandLine


@pytest.fixture
def command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    # Imported when it is used: most tests of the allocator need no command line.
    from tests.unit.allocator.command_line import CommandLine

    return CommandLine(tmp_path, capsys, monkeypatch)
