"""Which files xdist's workers start with: those that take long, then those with most tests.

A worker keeps a file from its first test to its last. A file that takes a minute and is
started last would keep one processor busy while the other has nothing left to do, so such
files are marked `long`. xdist's own order by number of tests puts just these last.

Used as `-p tests.order --dist loadfile --no-loadscope-reorder`.
"""

from collections import Counter

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by file alone: the order within each stays the random one."""
    tests_of = Counter(item.path for item in items)
    long_paths = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: (item.path not in long_paths, -tests_of[item.path], item.path))
