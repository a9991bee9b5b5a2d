"""Compare values and rows, and say in a line where they differ. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from django.db.models import Model

from dra_console.allocator.model import Json


class Difference(NamedTuple):
    """Where the mirror is wrong."""

    subject: str
    """Such as `resourceclaims team-vision/train` or `pool gpu.nvidia.com/gpu-01`."""

    mirrored: str
    """What the mirror has: a resource version, a column, or the word for what is wrong."""


def first_difference(ours: Json, theirs: Json, *, path: str = "") -> str:
    """Return the path of the first field that differs; empty if none does."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                return f"{path}.{key}".lstrip(".")
            if found := first_difference(ours[key], theirs[key], path=f"{path}.{key}"):
                return found
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        inside = (first_difference(a, b, path=f"{path}[{index}]") for index, (a, b) in pairs)
        return next(filter(None, inside), "")
    return "" if _is_same(ours, theirs) else path.lstrip(".") or "the whole object"


def _is_same(ours: Json, theirs: Json) -> bool:
    """Compare scalars; of a number beyond 64 bits, databases keep what its double prints as."""
    if isinstance(ours, float | int) and isinstance(theirs, float):
        return float(ours) == theirs
    return ours == theirs


def column_difference(row: Model, wanted: object, *, columns: Iterable[str]) -> tuple[str, str]:
    """Return the first column that differs with its value, and the wanted value; or two blanks."""
    for column in columns:
        has, wants = getattr(row, column), getattr(wanted, column)
        if has != wants:
            return f"{column} {has!r}", f"{wants!r}"
    return "", ""


def row_differences(
    what: str,
    *,
    wanted: Mapping[str, object],
    stored: Mapping[str, Model],
    columns: Iterable[str],
    true_of: str,
) -> Iterator[tuple[Difference, str]]:
    """Compare rows by name; `true_of` is what is true of wanted rows alone, as `published`."""
    columns = tuple(columns)
    for name in sorted(wanted.keys() | stored.keys()):
        row, model = stored.get(name), wanted.get(name)
        if row is None:
            yield Difference(f"{what} {name}", "missing"), true_of
        elif model is None:
            yield Difference(f"{what} {name}", "there"), f"not {true_of}"
        else:
            has, wants = column_difference(row, model, columns=columns)
            if has:
                yield Difference(f"{what} {name}", has), wants
