"""Decoded JSON, read field by field at the edges of the agent.

Claims, opaque configuration, the checkpoint and the console's frames all come from elsewhere.
A field that is absent or of another kind is reported with its whole path, once, here; behind
the edge there are only dataclasses.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""Anything that `json.loads` returns."""

JsonObject: TypeAlias = dict[str, Json]


class FieldError(ValueError):
    """A field is missing, of the wrong kind or not allowed; the message starts with its path."""


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object and where it stands, as in `status.allocation`."""

    value: JsonObject
    path: str

    @classmethod
    def of(cls, value: object, path: str) -> Self:
        """Take `value` as an object.

        Raises:
            FieldError: it is something else.

        """
        if not isinstance(value, dict):
            raise FieldError(f"{path}: expected an object, got {_kind(value)}")
        return cls(value, path)

    def text(self, name: str) -> str:
        """Return a string that must be there."""
        found = self.optional_text(name)
        if found is None:
            raise FieldError(f"{self._at(name)}: expected a string, got nothing")
        return found

    def optional_text(self, name: str) -> str | None:
        """Return a string, or `None` if the field is absent or null."""
        found = self.value.get(name)
        if found is not None and not isinstance(found, str):
            raise FieldError(f"{self._at(name)}: expected a string, got {_kind(found)}")
        return found

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or `None` if the field is absent or null."""
        found = self.value.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int):
            raise FieldError(f"{self._at(name)}: expected a whole number, got {_kind(found)}")
        return found

    def optional_number(self, name: str) -> float | None:
        """Return a number, or `None` if the field is absent or null."""
        found = self.value.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise FieldError(f"{self._at(name)}: expected a number, got {_kind(found)}")
        return found

    def flag(self, name: str) -> bool:
        """Return a boolean; absent or null is false, as in the Kubernetes API."""
        found = self.value.get(name)
        if found is not None and not isinstance(found, bool):
            raise FieldError(f"{self._at(name)}: expected true or false, got {_kind(found)}")
        return bool(found)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; absent or null is empty."""
        texts = []
        for index, item in enumerate(self._items(name)):
            if not isinstance(item, str):
                raise FieldError(f"{self._at(name)}[{index}]: expected a string, got {_kind(item)}")
            texts.append(item)
        return tuple(texts)

    def object(self, name: str) -> "Fields":
        """Return an object that must be there."""
        return Fields.of(self.value.get(name), self._at(name))

    def optional_object(self, name: str) -> "Fields | None":
        """Return an object, or `None` if the field is absent or null."""
        if self.value.get(name) is None:
            return None
        return self.object(name)

    def objects(self, name: str) -> tuple["Fields", ...]:
        """Return a list of objects; absent or null is empty."""
        return tuple(
            Fields.of(item, f"{self._at(name)}[{index}]")
            for index, item in enumerate(self._items(name))
        )

    def refuse_others(self, known: Iterable[str]) -> None:
        """Insist that the object has no member beside the known ones.

        Raises:
            FieldError: it has; the first such member is named.

        """
        allowed = frozenset(known)
        for name in self.value:
            if name not in allowed:
                raise FieldError(f"{self._at(name)}: unknown field")

    def _items(self, name: str) -> list[Json]:
        found = self.value.get(name)
        if found is None:
            return []
        if not isinstance(found, list):
            raise FieldError(f"{self._at(name)}: expected a list, got {_kind(found)}")
        return found

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the string {value[:40]!r}"
        case list():
            return "a list"
    return "an object"
