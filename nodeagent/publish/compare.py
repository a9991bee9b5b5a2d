"""Whether two slices mean the same to the API, however each is spelled."""

import json
from collections import OrderedDict
from functools import lru_cache
from typing import Final

from nodeagent.fields import Json, JsonObject
from nodeagent.quantity import value_of

QUANTITIES_BELOW: Final = frozenset({"capacity", "sharedCounters", "consumesCounters"})
VERBATIM: Final = frozenset({"attributes", "name", "counterSet"})
IGNORED: Final = frozenset({"timeAdded"})
"""Set by the server, and taken over from it (`taint_times`)."""

CACHED_QUANTITIES: Final = 4096
REMEMBERED_ALTERATIONS: Final = 256


def is_same(stored: JsonObject, wanted: JsonObject) -> bool:
    """Compare two specs: quantities by value, absent like empty, devices in their order."""
    return all(
        _is_same_member(name, stored.get(name), wanted.get(name))
        for name in stored.keys() | wanted.keys()
    )


def _is_same_member(name: str, stored: Json, wanted: Json) -> bool:
    if isinstance(stored, list) and isinstance(wanted, list) and len(stored) == len(wanted):
        is_quantity = name in QUANTITIES_BELOW
        # Of hundreds of devices nearly all come back as they were sent.
        return all(
            one == other
            or _canonical(one, is_quantity=is_quantity)
            == _canonical(other, is_quantity=is_quantity)
            for one, other in zip(stored, wanted, strict=True)
        )
    return _canonical({name: stored}) == _canonical({name: wanted})


class Alterations:
    """What the server made of content that it did not keep as sent.

    An admission webhook that adds something, or a field of a gate that nobody knows here: sent
    again it would come back the same way, so it counts as published (node-agent.md 4.7).
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()

    def is_published(self, stored: JsonObject, wanted: JsonObject) -> bool:
        """Tell whether the stored spec is the wanted one, or what the server makes of that."""
        if is_same(stored, wanted):
            return True
        if stored.get("pool") != wanted.get("pool") or not self._kept:
            return False
        return self._kept.get(_content_key(wanted)) == _content_key(stored)

    def note(self, sent: JsonObject, kept: JsonObject) -> bool:
        """Remember the answer to a write; tell whether it was altered."""
        if is_same(kept, sent):
            return False
        self._kept[_content_key(sent)] = _content_key(kept)
        while len(self._kept) > REMEMBERED_ALTERATIONS:
            self._kept.popitem(last=False)
        return True

    def forget(self) -> None:
        """Believe in the server again: it may be another one now."""
        self._kept.clear()


def _content_key(spec: JsonObject) -> str:
    content = {name: member for name, member in spec.items() if name != "pool"}
    return json.dumps(_canonical(content), sort_keys=True, default=str)


def _canonical(value: object, *, is_quantity: bool = False) -> object:
    if isinstance(value, dict):
        return {
            name: member
            if name in VERBATIM
            else _canonical(member, is_quantity=is_quantity or name in QUANTITIES_BELOW)
            for name, member in value.items()
            if name not in IGNORED and member not in (None, [], {})
        }
    if isinstance(value, list):
        return [_canonical(item, is_quantity=is_quantity) for item in value]
    if is_quantity and isinstance(value, str):
        return _amount(value)
    return value


@lru_cache(maxsize=CACHED_QUANTITIES)
def _amount(quantity: str) -> object:
    amount = value_of(quantity)
    return quantity if amount is None else amount
