"""Times as API objects spell them (apimachinery `meta/v1` Time and MicroTime)."""

from datetime import UTC, datetime

from dra_console.allocator.model import Json


def seconds_text(moment: datetime) -> str:
    """Spell a `Time`: to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def microseconds_text(moment: datetime) -> str:
    """Spell a `MicroTime`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment_of(text: Json) -> datetime | None:
    """Read a `Time`; None: there is none, or it is none."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
