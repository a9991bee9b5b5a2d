"""What `kubectl get -o yaml` printed, from any number of files, as one snapshot.

Everything that is wrong is collected before it is told, since whoever has the dump may be
far from the cluster: one round of questions is enough. Kinds of no use here are counted and
otherwise not looked at; a Secret is one of them, so its content goes nowhere.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.command.documents import DocumentError, read_documents
from dra_console.allocator.command.gathering import (
    Gathering,
    ObjectError,
    ObjectName,
    is_of_use,
    name_of,
)
from dra_console.allocator.command.source import SourceError, read_text, title_of
from dra_console.allocator.decoding.reading import kind_of
from dra_console.allocator.errors import AllocatorError

LIST: Final = "List"
LIST_DEPTH_LIMIT: Final = 8
KIND_LENGTH: Final = 63
"""Longest kind that is counted by name; kinds are names of types."""


class DumpError(AllocatorError):
    """A dump cannot be used; `problems` are one line each, with file, object and reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Dump:
    """The objects of a dump; `ignored` counts those of other kinds, by kind."""

    gathering: Gathering
    ignored: Counter[str]
    repeated: int
    """Objects that were given again, word for word."""

    places: Mapping[ObjectName, tuple[str, JsonObject]]
    """Where each object stands, as in `dump.yaml: items[3]`, and the object as it was given."""

    def place_of(self, kind: str, namespace: str, name: str) -> str:
        """Say where an object stands; one that was made up stands nowhere (`-`)."""
        place, _ = self.places.get(ObjectName(kind, namespace, name), ("-", {}))
        return place


def read_dump(sources: Iterable[str]) -> Dump:
    """Read files, `-` for standard input.

    Raises:
        DumpError: something cannot be read; nothing is left out in silence.

    """
    reading = _Reading()
    with _without_collections():
        for source in sources:
            reading.read(source)
    if reading.problems:
        raise DumpError(reading.problems)
    return Dump(reading.gathering, reading.ignored, reading.repeated, reading.places)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Suspend the garbage collector.

    A dump is trees without cycles. To walk them over and over while they grow would be half
    of the time that reading takes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(slots=True)
class _Reading:
    gathering: Gathering = field(default_factory=Gathering)
    ignored: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    problems: list[str] = field(default_factory=list)
    places: dict[ObjectName, tuple[str, JsonObject]] = field(default_factory=dict)

    def read(self, source: str) -> None:
        title = title_of(source)
        try:
            documents = [each for each in read_documents(read_text(source)) if each is not None]
        except SourceError as error:
            self.problems.append(str(error))
            return
        except DocumentError as error:
            self.problems.append(f"{title}: {error}")
            return
        if not documents:
            self.problems.append(f"{title}: no object in it")
        for number, document in enumerate(documents, start=1):
            self.take(document, title if len(documents) == 1 else f"{title}: document {number}")

    def take(self, value: Json, place: str, depth: int = 0) -> None:
        """Take an object, or the objects of a list."""
        if not isinstance(value, dict):
            self.problems.append(f"{place}: expected an API object, got {kind_of(value)}")
            return
        kind, items = value.get("kind"), value.get("items")
        if not isinstance(kind, str) or not kind:
            self.problems.append(f"{place}: {_without_kind(value)}")
        elif kind.endswith(LIST) and isinstance(items, list) and depth < LIST_DEPTH_LIMIT:
            for number, item in enumerate(items):
                self.take(_typed(item, kind, value), f"{place}: items[{number}]", depth + 1)
        elif not value.get("apiVersion") or not isinstance(value["apiVersion"], str):
            self.problems.append(f"{place}: apiVersion: expected a version such as v1")
        elif is_of_use(value):
            self._gather(value, place)
        else:
            self.ignored[kind[:KIND_LENGTH]] += 1

    def _gather(self, obj: JsonObject, place: str) -> None:
        try:
            name = name_of(obj)
            known = self.places.get(name)
            if known is None:
                self.gathering.take(obj)
                self.places[name] = (place, obj)
            elif known[1] == obj:
                self.repeated += 1
            else:
                self.problems.append(
                    f"{place}: {name}: given before, at {known[0]}, with other content; "
                    "take both from one moment"
                )
        except ObjectError as error:
            self.problems.append(f"{place}: {error}")


def _typed(item: Json, list_kind: str, whole: JsonObject) -> Json:
    """Give an item of a typed list its kind, which the API server leaves out there."""
    if list_kind == LIST or not isinstance(item, dict) or "kind" in item:
        return item
    return {"apiVersion": whole.get("apiVersion"), "kind": list_kind.removesuffix(LIST), **item}


def _without_kind(value: JsonObject) -> str:
    if isinstance(value.get("items"), list):
        return (
            "a list without kind: the file ends early, since kubectl writes the kind "
            "after the items"
        )
    return "expected an API object with apiVersion and kind, got an object without kind"
