"""The list of other people's faults names tests that exist (`docs/node-agent-faults.md`)."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs/node-agent-faults.md"
ROW = re.compile(r"^\| (\d+) \|.*\|$", re.MULTILINE)
FAULTS = 55
OUT_OF_SCOPE = "| Out of scope: "
TEST = re.compile(r"`((?:tests/[\w/]+/)?)(test_\w+\.py)(?:::(\w+))?`")


def test_each_test_in_the_list_of_faults_exists() -> None:
    missing = []
    for folder, name, function in TEST.findall(DOCUMENT.read_text()):
        path = ROOT / (folder or "tests/unit/nodeagent") / name
        if not path.exists() or f"def {function}" not in path.read_text():
            missing.append(f"{folder}{name}::{function}")

    assert missing == []


def test_every_fault_is_there_in_order_and_names_a_test_or_why_it_is_out_of_scope() -> None:
    rows = list(ROW.finditer(DOCUMENT.read_text()))

    assert [int(row.group(1)) for row in rows] == list(range(1, FAULTS + 1))
    untested = [row for row in rows if not TEST.search(row.group())]
    assert [row.group(1) for row in untested if OUT_OF_SCOPE not in row.group()] == []
