"""What differs between two attempts: sentences, reasons by number of devices, nodes, holders.

Pure: two explanations as they are kept (`allocator.explanation.folding`), with names put in and
what the reader may not see taken out. Both are boiled down to facts that can be counted, and the
facts are compared. Whoever applies the differences to the older facts has the newer ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from dra_console.allocator.api_json import object_of
from dra_console.allocator.explanation.unfolding import objects, texts
from dra_console.allocator.model import Json, JsonObject

SENTENCES: Final = ("outcome", "headline", "node")


class Reason(NamedTuple):
    """What is said of a device; `request` is the one that it was judged by, if any."""

    verdict: str
    evidence: str
    request: str


Key = TypeVar("Key", Reason, str)


class Standing(NamedTuple):
    """What is said of a node."""

    reason: str
    summary: str


class Facts(NamedTuple):
    """An explanation as far as two can be compared."""

    sentences: Mapping[str, str]
    devices: Mapping[Reason, int]
    """How many devices each reason holds for."""

    nodes: Mapping[str, Standing]
    """By the node's name; devices of no single node stand under an empty one."""

    holders: Mapping[str, int]
    """How many of the devices that would do each claim holds, by `namespace/name`."""

    advice: frozenset[str]


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """A sentence before and after; empty where there was none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ReasonChange:
    """A reason that holds for another number of devices; 0 before is new, 0 after is gone."""

    reason: Reason
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class NodeChange:
    """Nodes that went from one standing to another; None where they were not listed."""

    names: tuple[str, ...]
    before: Standing | None
    after: Standing | None


@dataclass(frozen=True, slots=True)
class HolderChange:
    """A claim that holds another number of devices that would do."""

    claim: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences; those of the most devices or nodes first."""

    sentences: tuple[SentenceChange, ...] = ()
    reasons: tuple[ReasonChange, ...] = ()
    nodes: tuple[NodeChange, ...] = ()
    holders: tuple[HolderChange, ...] = ()
    advice_new: tuple[str, ...] = ()
    advice_gone: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Tell whether both say the same."""
        return self == Comparison()


def facts_of(explanation: JsonObject) -> Facts:
    """Boil an explanation down."""
    groups = objects(explanation.get("groups"))
    return Facts(
        sentences={name: _text(explanation.get(name)) for name in SENTENCES},
        devices=_devices(groups),
        nodes={
            name: Standing(_text(group.get("reason")), _text(group.get("summary")))
            for group in groups
            for name in texts(group.get("names")) or ("",)
        },
        holders=_holders(explanation.get("holders")),
        advice=frozenset(
            _text(each.get("text")) for each in objects(explanation.get("suggestions"))
        ),
    )


def compare(older: Facts, newer: Facts) -> Comparison:
    """List what the newer one says otherwise."""
    return Comparison(
        sentences=tuple(
            SentenceChange(name, older.sentences[name], newer.sentences[name])
            for name in SENTENCES
            if older.sentences[name] != newer.sentences[name]
        ),
        reasons=tuple(
            ReasonChange(reason, before, after)
            for reason, before, after in _counts(older.devices, newer.devices)
        ),
        nodes=_nodes(older.nodes, newer.nodes),
        holders=tuple(
            HolderChange(claim, before, after)
            for claim, before, after in _counts(older.holders, newer.holders)
        ),
        advice_new=tuple(sorted(newer.advice - older.advice)),
        advice_gone=tuple(sorted(older.advice - newer.advice)),
    )


def _devices(groups: Iterable[JsonObject]) -> Mapping[Reason, int]:
    """Count devices by what is said of them, over all nodes."""
    counts: Counter[Reason] = Counter()
    for group in groups:
        for said in objects(group.get("verdicts")):
            count = said.get("count")
            reason = Reason(*(_text(said.get(name)) for name in Reason._fields))
            counts[reason] += count if isinstance(count, int) else 0
    return counts


def _holders(holders: Json) -> Mapping[str, int]:
    return {
        f"{namespace}/{name}" if name else namespace: len(texts(devices))
        for namespace, claims in object_of(holders).items()
        for name, devices in object_of(claims).items()
    }


def _counts(before: Mapping[Key, int], after: Mapping[Key, int]) -> Iterator[tuple[Key, int, int]]:
    changed = [
        (key, before.get(key, 0), after.get(key, 0))
        for key in {**before, **after}
        if before.get(key, 0) != after.get(key, 0)
    ]
    yield from sorted(changed, key=lambda each: (-abs(each[2] - each[1]), each[0]))


def _nodes(before: Mapping[str, Standing], after: Mapping[str, Standing]) -> tuple[NodeChange, ...]:
    moved: dict[tuple[Standing | None, Standing | None], list[str]] = {}
    for name in {**before, **after}:
        move = (before.get(name), after.get(name))
        if move[0] != move[1]:
            moved.setdefault(move, []).append(name)
    changes = [NodeChange(tuple(sorted(names)), *move) for move, names in moved.items()]
    return tuple(sorted(changes, key=lambda each: (-len(each.names), each.names)))


def _text(value: Json) -> str:
    return "" if value is None else str(value)
