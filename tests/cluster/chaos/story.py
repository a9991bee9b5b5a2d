"""Whether the history that the mirror wrote down can have happened: nothing twice, in order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

ONCE: Final = ("created", "deleted", "deletion requested")
UNDONE_BY: Final = {"allocated": "deallocated", "reserved": "unreserved"}


def impossible_histories(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return what cannot have happened; `rows` are UID and happening, in the order seen."""
    lives: dict[str, list[str]] = defaultdict(list)
    for uid, happened in rows:
        lives[uid].append(happened)
    return [f"{uid}: {fault} in {life}" for uid, life in lives.items() for fault in _faults(life)]


def _faults(life: list[str]) -> Iterator[str]:
    for happened in ONCE:
        if life.count(happened) > 1:
            yield f"{happened} twice"
    if "created" in life and life[0] != "created":
        yield "something before it was created"
    if "deleted" in life and life[-1] != "deleted":
        yield "something after it was deleted"
    for doing, undoing in UNDONE_BY.items():
        last = undoing
        for happened in life:
            if happened not in {doing, undoing}:
                continue
            if happened == last == doing or (happened == undoing and last == undoing):
                yield f"{happened} after {last}"
            last = happened
