"""What can keep the mirror from being written."""

from typing import Final

from django.db import DataError, IntegrityError

STUMBLES: Final = (
    ArithmeticError,
    AttributeError,
    DataError,
    IntegrityError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""How something in an object shows that nobody expected."""


class SyncError(Exception):
    """Base of what this package raises on purpose."""


class NoIdentityError(SyncError):
    """An object has no name, UID or resource version, and cannot be mirrored."""


class NotOurTurnError(SyncError):
    """This window may write no more: somebody else follows the kind, or nobody should."""


class CursorMovedError(NotOurTurnError):
    """The holder before us still wrote, before we did for the first time; begin where it ended."""
