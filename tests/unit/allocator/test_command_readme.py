"""The allocator's README and its front: what they promise is so."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dra_console.allocator as front
from tests.builders.objects import a_claim, a_class, a_node, a_slice
from tests.unit.allocator.command_line import CommandLine

ROOM = Path(front.__file__).parent
README = (ROOM / "README.md").read_text()
PAGE = (ROOM.parents[1] / "docs" / "dra-explain.md").read_text()
DUMP = Path(__file__).parents[2] / "golden" / "dumps" / "l4-v1.yaml"
FRAMEWORKS = {"django", "celery", "channels", "kubernetes", "rest_framework", "redis", "grpc"}


def test_the_ten_lines_run(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    objects = [a_node(), a_class(), a_slice(), a_claim()]
    (tmp_path / "dump.json").write_text(json.dumps({"items": objects}))

    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    allocation, headline = done.stdout.splitlines()
    assert "'device': 'gpu-0'" in allocation
    assert headline == "Fits on gpu-01: gpu-0."


@pytest.mark.parametrize("name", front.__all__)
def test_every_name_of_the_front_is_there(name: str) -> None:
    assert getattr(front, name)
    assert name in dir(front)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute nonsense"):
        front.nonsense  # noqa: B018  looked up for its error


@pytest.mark.parametrize("module", ["dra_console.allocator", "dra_console.allocator.command.main"])
def test_importing_the_allocator_loads_no_framework(module: str) -> None:
    code = f"import sys, {module}, json; print(json.dumps(sorted(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert not FRAMEWORKS & set(json.loads(done.stdout))


def test_importing_the_front_alone_loads_no_engine() -> None:
    code = "import sys, dra_console.allocator, json; print(json.dumps(sorted(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert not {"cel_expr_python", "google.protobuf", "yaml"} & set(json.loads(done.stdout))


def test_the_readme_has_every_room() -> None:
    rooms = {path.name for path in ROOM.iterdir() if (path / "__init__.py").is_file()}

    assert {name for name in rooms if f"`{name}/`" in README} == rooms


def test_the_page_shows_what_is_really_printed(command_line: CommandLine) -> None:
    printed = command_line.run("explain", str(DUMP)).output

    assert printed in PAGE


def test_the_page_has_every_option(command_line: CommandLine) -> None:
    for command in ("explain", "allocate"):
        options = re.findall(r"--[a-z]+", command_line.run(command, "--help").output)
        assert options
        assert not [each for each in set(options) - {"--help"} if f"`{each}" not in PAGE]
