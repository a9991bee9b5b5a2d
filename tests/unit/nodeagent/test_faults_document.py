"""The list of other people's faults names tests that exist (`docs/node-agent-faults.md`)."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs/node-agent-faults.md"
ROW = re.compile(r"^\| (\d+) \|.*\|$", re.MULTILINE)
TEST = re.compile(r"`((?:tests/[\w/]+/)?)(test_\w+\.py)(?:::(\w+))?`")


def test_each_test_in_the_list_of_faults_exists() -> None:
    missing = []
    for folder, name, function in TEST.findall(DOCUMENT.read_text()):
        path = ROOT / (folder or "tests/unit/nodeagent") / name
        if not path.exists() or f"def {function}" not in path.read_text():
            missing.append(f"{folder}{name}::{function}")

    assert missing == []


def test_faults_are_in_order_and_each_names_a_test() -> None:
    rows = list(ROW.finditer(DOCUMENT.read_text()))

    numbers = [int(row.group(1)) for row in rows]
    assert numbers == sorted(set(numbers))
    assert [row.group(1) for row in rows if not TEST.search(row.group())] == []
