"""What is done at the API server: thousands of writes, all made from one number.

The plan knows which objects are there, so that every write can succeed: it is tested what
the mirror makes of them, not what the API server refuses. Each object is written by one
thread in a fixed order; between threads the order is open, as it is between users.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

THREADS: Final = 6
LIVE_SHARE: Final = 0.25
"""How often an object that is there is deleted, of all that is done with it."""


class Verb(StrEnum):
    """What is done with one object."""

    CREATE = "create"
    CHANGE = "change"
    """Labels, or the parts of the spec that may change."""

    ADVANCE = "change status"
    """The next state of its life: allocated, reserved, released, bound, ready, running."""

    DELETE = "delete"
    """A finalizer may keep it."""

    LET_GO = "remove finalizers"


@dataclass(frozen=True, slots=True)
class Operation:
    """One write; `dice` makes its body, so the same plan writes the same objects."""

    plural: str
    number: int
    """Which of the kind's objects; its name is made of it."""

    verb: Verb
    dice: int


OBJECTS: Final = {
    "namespaces": 8,
    "nodes": 30,
    "deviceclasses": 12,
    "resourceslices": 160,
    "devicetaintrules": 10,
    "resourceclaimtemplates": 24,
    "pods": 120,
    "resourceclaims": 260,
    "resourcequotas": 8,
}
"""How many names of each kind there are; few, so that names are used again and again."""

HELD_BY_FINALIZERS: Final = frozenset({"resourceclaims", "namespaces"})
WITH_STATUS: Final = frozenset({"nodes", "pods", "resourceclaims"})


@dataclass(slots=True)
class _Slot:
    """One name, as the plan believes it to be."""

    plural: str
    number: int
    exists: bool = False
    is_held: bool = False

    def next(self, dice: random.Random) -> Verb:
        if not self.exists:
            self.exists = True
            return Verb.CREATE
        if self.is_held:
            self.exists = self.is_held = False
            return Verb.LET_GO
        if dice.random() < LIVE_SHARE:
            self.is_held = self.plural in HELD_BY_FINALIZERS
            self.exists = self.is_held
            return Verb.DELETE
        is_status = self.plural in WITH_STATUS and dice.random() < 0.7
        return Verb.ADVANCE if is_status else Verb.CHANGE


@dataclass(slots=True)
class Plan:
    """The writes of each thread."""

    seed: int
    operations: int
    by_thread: list[list[Operation]] = field(init=False)

    def __post_init__(self) -> None:
        dice = random.Random(self.seed)
        slots = [
            _Slot(plural, number) for plural, count in OBJECTS.items() for number in range(count)
        ]
        self.by_thread = [[] for _ in range(THREADS)]
        for _ in range(self.operations):
            slot = dice.choice(slots)
            operation = Operation(slot.plural, slot.number, slot.next(dice), dice.getrandbits(32))
            # A pod and the claim that is generated for it have the same number.
            self.by_thread[slot.number % THREADS].append(operation)

    def __iter__(self) -> Iterator[Operation]:
        for operations in self.by_thread:
            yield from operations
