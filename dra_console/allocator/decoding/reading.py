"""Typed reading of JSON objects that remembers where it is.

Kubernetes treats `null` as absent, in a list or a map as an entry without content, and a missing
text as the empty text; so does this. Anything of another kind than the API declares is an error
with the field's path.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self, TypeVar

from dra_console.allocator.errors import DecodeError, QuantityError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity

LARGEST_INTEGER: Final = 2**63 - 1
Value = TypeVar("Value")
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def kind_of(value: Json) -> str:
    """Name a JSON value's kind as a person would."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


@dataclass(slots=True)
class Fields:
    """One JSON object and the path at which it was found (`""` for the whole object).

    Never written to; not frozen, since one is made for each object inside an object and that would
    treble what it costs. For the same reason paths are spelled out only where one is needed.
    """

    path: str
    raw: JsonObject

    @classmethod
    def at(cls, path: str, value: Json) -> Self:
        """Take a value that has to be an object.

        Raises:
            DecodeError: it is not.

        """
        if not isinstance(value, dict):
            raise DecodeError(path, f"expected an object, got {kind_of(value)}")
        return cls(path, value)

    def path_of(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        return self.raw.get(key) is not None

    def text(self, key: str) -> str:
        """Return the text, or the empty text where the field is absent."""
        return self.optional_text(key) or ""

    def optional_text(self, key: str) -> str | None:
        """Return the text, or `None` where the field is absent."""
        value = self.raw.get(key)
        if value is None or (type(value) is str and value.isascii()):
            return value
        return text_at(self.path_of(key), value)

    def integer(self, key: str) -> int | None:
        """Return the whole number, or `None` where the field is absent."""
        value = self.raw.get(key)
        return None if value is None else integer_at(self.path_of(key), value)

    def boolean(self, key: str) -> bool | None:
        """Return the boolean, or `None` where the field is absent."""
        value = self.raw.get(key)
        if value is None or value is True or value is False:
            return value
        return boolean_at(self.path_of(key), value)

    def quantity(self, key: str) -> Quantity | None:
        """Return the quantity, or `None` where the field is absent."""
        value = self.raw.get(key)
        return None if value is None else quantity_at(self.path_of(key), value)

    def child(self, key: str) -> Self | None:
        """Return the object inside, or `None` where the field is absent."""
        value = self.raw.get(key)
        return None if value is None else self.at(self.path_of(key), value)

    def items(self, key: str) -> Iterator[tuple[str, Json]]:
        """Walk a list with the path of each entry; an absent list is empty."""
        value = self.raw.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            raise DecodeError(self.path_of(key), f"expected a list, got {kind_of(value)}")
        for index, entry in enumerate(value):
            yield f"{self.path_of(key)}[{index}]", entry

    def children(self, key: str) -> Iterator[Self]:
        """Walk a list of objects; `null` among them is an object without fields."""
        for path, entry in self.items(key):
            yield self.at(path, {} if entry is None else entry)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; `null` among them is the empty text."""
        if self.raw.get(key) is None:
            return ()
        return tuple(
            text_at(path, "" if entry is None else entry) for path, entry in self.items(key)
        )

    def entries(self, key: str) -> Iterator[tuple[str, str, Json]]:
        """Walk a map: name, path (`labels[zone]`), value."""
        value = self.raw.get(key)
        if value is None:
            return
        for name, entry in self.at(self.path_of(key), value).raw.items():
            yield name, f"{self.path_of(key)}[{name}]", entry

    def named(self, key: str) -> Iterator[tuple[str, Self]]:
        """Walk a map of objects by name; `null` among them is an object without fields."""
        for name, path, entry in self.entries(key):
            yield name, self.at(path, {} if entry is None else entry)

    def read_map(
        self,
        key: str,
        read: Callable[[Self], Value],
        *,
        at_sight: Callable[[Json], Value | None],
    ) -> dict[str, Value]:
        """Return a map of objects; `read` is for those that are not known at sight."""
        value = self.raw.get(key)
        if value is None:
            return {}
        found = {}
        for name, entry in self.at(self.path_of(key), value).raw.items():
            known = at_sight(entry)
            if known is None:
                path = f"{self.path_of(key)}[{name}]"
                known = read(self.at(path, {} if entry is None else entry))
            found[name] = known
        return found

    def text_map(self, key: str) -> Mapping[str, str]:
        """Return a map of texts, such as labels."""
        return {
            name: text_at(path, "" if entry is None else entry)
            for name, path, entry in self.entries(key)
        }

    def quantities(self, key: str) -> tuple[Quantity, ...]:
        """Return a list of quantities."""
        return tuple(
            quantity_at(path, 0 if entry is None else entry) for path, entry in self.items(key)
        )

    def quantity_map(self, key: str) -> Mapping[str, Quantity]:
        """Return a map of quantities."""
        return {
            name: quantity_at(path, 0 if entry is None else entry)
            for name, path, entry in self.entries(key)
        }


def text_at(path: str, value: Json) -> str:
    """Take a value that has to be a text; half of a surrogate pair becomes U+FFFD, as in Go."""
    if not isinstance(value, str):
        raise DecodeError(path, f"expected a text, got {kind_of(value)}")
    return value if value.isascii() else LONE_SURROGATE.sub("\ufffd", value)


def integer_at(path: str, value: Json) -> int:
    """Take a value that has to be a whole number of 64 bits."""
    # One number beyond 64 bits comes from one database as a double, from another as an integer.
    if isinstance(value, int | float) and not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        raise DecodeError(path, "expected a whole number of at most 64 bits")
    if isinstance(value, bool) or not isinstance(value, int):
        raise DecodeError(path, f"expected a whole number, got {kind_of(value)}")
    return value


def boolean_at(path: str, value: Json) -> bool:
    """Take a value that has to be a boolean."""
    if not isinstance(value, bool):
        raise DecodeError(path, f"expected true or false, got {kind_of(value)}")
    return value


def quantity_at(path: str, value: Json) -> Quantity:
    """Take a value that has to be a quantity; the API server also accepts a bare number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DecodeError(path, f"expected a quantity, got {kind_of(value)}")
    try:
        return Quantity.parse(str(value).strip(" "))
    except QuantityError as error:
        raise DecodeError(path, str(error)) from error
