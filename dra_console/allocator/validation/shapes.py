"""Shapes of API objects: which fields there are, and of which type each is.

The API server decodes strictly when it is asked to (`fieldValidation=Strict`, which kubectl asks
for): a field that the type does not have, or a value of another type, ends the request before any
rule is looked at. `check_shape` finds all of these at once.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.api_json import Json
from dra_console.allocator.decoding.reading import (
    boolean_at,
    integer_at,
    kind_of,
    quantity_at,
    text_at,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.validation.field_errors import FieldErrors

TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?(Z|[+-]\d{2}:\d{2})",
    re.ASCII,
)


class Leaf(Enum):
    """What a value without fields of its own can be."""

    TEXT = "text"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    QUANTITY = "quantity"
    TIME = "time"
    ANYTHING = "anything"
    """Handed on unread."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, every entry of which has one shape."""

    entry: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object in which every name is a key of the client's own."""

    entry: "Shape"


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object with the fields of an API type."""

    fields: "Mapping[str, Shape]"


Shape: TypeAlias = Leaf | ListOf | MapOf | ObjectOf
Hint: TypeAlias = Callable[[str], str]
"""Where a field belongs that was found at a path; the empty text if nobody knows."""


def time_at(path: str, value: Json) -> str:
    """Take a value that has to be a time of RFC 3339."""
    text = text_at(path, value)
    if not TIME.fullmatch(text):
        raise DecodeError(path, f"expected a time such as 2026-01-31T12:00:00Z, got {text!r}")
    return text


LEAVES: Final[Mapping[Leaf, Callable[[str, Json], object]]] = MappingProxyType(
    {
        Leaf.TEXT: text_at,
        Leaf.INTEGER: integer_at,
        Leaf.BOOLEAN: boolean_at,
        Leaf.QUANTITY: quantity_at,
        Leaf.TIME: time_at,
    }
)


def check_shape(
    value: Json, shape: Shape, errors: FieldErrors, *, path: str = "", hint: Hint = lambda _: ""
) -> None:
    """Report every unknown field and every value of another type; `null` counts as absent."""
    if value is None:
        return
    match shape:
        case Leaf():
            _check_leaf(value, shape, errors, path=path)
        case ListOf(entry):
            if not isinstance(value, list):
                errors.wrong_type(path, f"expected a list, got {kind_of(value)}")
                return
            for index, each in enumerate(value):
                check_shape(each, entry, errors, path=f"{path}[{index}]", hint=hint)
        case MapOf() | ObjectOf():
            if not isinstance(value, dict):
                errors.wrong_type(path, f"expected an object, got {kind_of(value)}")
                return
            for name, each in value.items():
                _check_field(name, each, shape, errors, path=path, hint=hint)


def _check_field(  # noqa: PLR0913  the arguments of `check_shape`, and which field
    name: str, value: Json, shape: MapOf | ObjectOf, errors: FieldErrors, *, path: str, hint: Hint
) -> None:
    if isinstance(shape, MapOf):
        check_shape(value, shape.entry, errors, path=f"{path}[{name}]", hint=hint)
        return
    inside = f"{path}.{name}" if path else name
    if name in shape.fields:
        check_shape(value, shape.fields[name], errors, path=inside, hint=hint)
    else:
        errors.unknown(inside, hint(inside))


def _check_leaf(value: Json, leaf: Leaf, errors: FieldErrors, *, path: str) -> None:
    if leaf is Leaf.ANYTHING:
        return
    try:
        LEAVES[leaf](path, value)
    except DecodeError as error:
        errors.wrong_type(error.path, error.message)
