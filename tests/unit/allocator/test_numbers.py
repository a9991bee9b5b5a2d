"""Every case of `dra-semantics.md` section 6 is a test, and is found by its number."""

import re
from collections.abc import Iterator
from pathlib import Path

CASES = range(1, 214)
TESTS = Path(__file__).parents[2]
NUMBER = re.compile(r'(?:\bid=f?"|def test_)([0-9]{1,3})(?=[ _"-])')
"""In the name of a test, or of a row of its table."""


def numbers() -> Iterator[int]:
    """Read the numbers that stand in tests."""
    for module in TESTS.rglob("test_*.py"):
        yield from map(int, NUMBER.findall(module.read_text()))


def test_every_case_has_its_test() -> None:
    found = set(numbers())

    assert [case for case in CASES if case not in found] == []
    assert [number for number in sorted(found) if number not in CASES] == []
