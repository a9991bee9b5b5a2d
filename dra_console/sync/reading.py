"""Read fields of an API object, whatever shape it has.

The API server has validated what it stores, and the mirror holds each object whole, so a
field of an unexpected shape is read as absent here: it must neither stop the stream nor
keep the object's other fields from being seen. Whether an object makes sense is decided
strictly, with field paths, by `allocator.decode`; what that refuses about slices is shown
as their pool's problem.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from django.utils.dateparse import parse_datetime

from dra_console.allocator.model import Json, JsonObject

INTEGERS: Final = range(-(2**63), 2**63)
LONGEST_NAME: Final = 253
LONGEST_LABEL: Final = 63


def text_in(parent: Json, *path: str) -> str:
    """Return the text at `path`, or the empty text."""
    # Not by `_value_in`: a first list calls this a million times.
    for key in path:
        if not isinstance(parent, dict):
            return ""
        parent = parent.get(key)
    return parent if isinstance(parent, str) else ""


def name_in(parent: Json, *path: str) -> str:
    """Return the name at `path`, or the empty text.

    Names of Kubernetes hold no slash and at most 253 characters. Columns hold no more, and
    pages and the API have names in addresses, so other texts are no names to them.
    """
    return name_of(text_in(parent, *path))


def name_of(text: str) -> str:
    """Return the text if it is such a name, or the empty text."""
    return "" if "/" in text or len(text) > LONGEST_NAME else text


def label_in(parent: Json, *path: str) -> str:
    """Return the name at `path` likewise, of at most 63 characters, such as a device's."""
    return label_of(text_in(parent, *path))


def label_of(text: str) -> str:
    """Return the text if it is such a name, or the empty text."""
    return text if 0 < len(text) <= LONGEST_LABEL and "/" not in text else ""


def pool_in(parent: Json, *path: str) -> str:
    """Return the name of a pool at `path` likewise; it may hold slashes."""
    return pool_of(text_in(parent, *path))


def pool_of(text: str) -> str:
    """Return the text if it may be a pool's name, or the empty text."""
    return text if len(text) <= LONGEST_NAME else ""


def integer_in(parent: Json, *path: str) -> int | None:
    """Return the whole number at `path`, or `None`; columns hold 64 bits, as the API does."""
    value = _value_in(parent, path)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value in INTEGERS else None


def flag_in(parent: Json, *path: str) -> bool:
    """Tell whether there is a true at `path`."""
    return _value_in(parent, path) is True


def object_in(parent: Json, *path: str) -> JsonObject:
    """Return the object at `path`, or an empty one."""
    value = _value_in(parent, path)
    return value if isinstance(value, dict) else {}


def objects_in(parent: Json, *path: str) -> list[JsonObject]:
    """Return the objects in the list at `path`."""
    value = _value_in(parent, path)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def texts_in(parent: Json, *path: str) -> list[str]:
    """Return the texts in the list at `path`."""
    value = _value_in(parent, path)
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def time_in(parent: Json, *path: str) -> datetime | None:
    """Return the time at `path` (RFC 3339) in UTC, or `None`."""
    return time_of(text_in(parent, *path))


@lru_cache(maxsize=1024)
def time_of(text: str) -> datetime | None:
    """Read a time (RFC 3339; without zone it is UTC), or `None`."""
    try:
        time = parse_datetime(text)
        if time is None or time.tzinfo is None:
            return time and time.replace(tzinfo=UTC)
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        # The zone may take it out of the years 1 to 9999.
        return None


def _value_in(parent: Json, path: tuple[str, ...]) -> Json:
    for key in path:
        if not isinstance(parent, dict):
            return None
        parent = parent.get(key)
    return parent
