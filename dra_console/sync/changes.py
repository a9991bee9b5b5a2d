"""What a batch did to the rows of one kind; the steps after it work from this."""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from dra_console.mirror.models.cluster import MirroredObject

Row = TypeVar("Row", bound=MirroredObject)


class RowChange(NamedTuple, Generic[Row]):
    """One object, by UID, before and after the batch; at least one of the two is there.

    An object that was deleted and created again under its name makes two changes: the old
    UID vanishes, the new one appears.
    """

    before: Row | None
    after: Row | None


def changes_of(
    model: type[Row], changes: Iterable[RowChange[MirroredObject]]
) -> list[RowChange[Row]]:
    """Return the changes of one model's rows, typed as such."""
    return [
        RowChange(
            before=change.before if isinstance(change.before, model) else None,
            after=change.after if isinstance(change.after, model) else None,
        )
        for change in changes
        if isinstance(change.before or change.after, model)
    ]
