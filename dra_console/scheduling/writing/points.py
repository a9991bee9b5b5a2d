"""The writes of a plan by name, so that tests can stop a process just before or after each.

Nobody listens in production; then passing a point costs one comparison.
"""

from collections.abc import Callable
from enum import StrEnum


class WritePoint(StrEnum):
    """One write; in the order in which a plan passes them."""

    FINALIZER = "finalizer"
    NOTE = "note"
    ALLOCATION = "allocation"
    RESERVATION = "reservation"
    CONFIRMATION = "confirmation"
    """A claim that was reserved before gets another version."""

    BINDING = "binding"
    NOTE_WITHDRAWAL = "note withdrawal"
    """The note of what the API server refused is taken back."""

    DISOWNING = "disowning"
    """The pod gets another version before claims are taken back from it."""

    RELEASE = "release"
    """A reservation or an allocation is taken back."""

    FINALIZER_REMOVAL = "finalizer removal"
    NOTE_SETTLING = "note settling"
    """A note is forgotten, since it is decided what became of its write."""


class Moment(StrEnum):
    """On which side of the write a process is."""

    BEFORE = "before"
    AFTER = "after"


listener: Callable[[WritePoint, Moment], None] | None = None
"""Called by the writing thread itself at every point; set by tests alone."""


def before(point: WritePoint) -> None:
    """Say that the write comes next."""
    if listener is not None:
        listener(point, Moment.BEFORE)


def after(point: WritePoint) -> None:
    """Say that the write has been answered well."""
    if listener is not None:
        listener(point, Moment.AFTER)
