"""An explanation as it is kept: bounded in devices and bytes, and told apart by a digest.

What was left out to keep the bound is said in the explanation itself, in `cut`.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.explanation.explanation import Explanation
from dra_console.allocator.explanation.unfolding import objects
from dra_console.allocator.model import JsonObject

DEVICES_LISTED: Final = 2_000
"""Devices that a stored explanation names, those of the closest nodes; it counts the rest."""

BYTES_KEPT: Final = 512 * 1024
"""Of an explanation as JSON, at most. The names of 5,000 nodes are a quarter of that."""

GROUPS_KEPT: Final = 50
NAMES_KEPT: Final = 200
"""Of nodes and of each group's names, where even the counts are too long."""

SAID_CHARACTERS: Final = 2_000
"""Of one text, such as a selector that is quoted, where nothing else helps."""


@dataclass(frozen=True, slots=True)
class Body:
    """An explanation as it is kept, with its digest and size."""

    shaped: JsonObject
    digest: str
    size_bytes: int


def body_of(explanation: Explanation, *, outcome: str, bytes_kept: int = BYTES_KEPT) -> Body:
    """Shape an explanation for keeping; no more of it is left out than keeps the bound."""
    whole = _body({**explanation.to_json(most_devices=DEVICES_LISTED), "cut": ""}, outcome)
    if whole.size_bytes <= bytes_kept:
        return whole
    for smaller in _ever_smaller(explanation):
        body = _body(smaller, outcome)
        if body.size_bytes <= bytes_kept:
            return body
    return _body(_numbers(explanation), outcome)


def _body(shaped: JsonObject, outcome: str) -> Body:
    own: JsonObject = {**shaped, "outcome": outcome}
    text = json.dumps(own, sort_keys=True)
    return Body(own, hashlib.sha256(text.encode()).hexdigest(), size_bytes=len(text))


def _ever_smaller(explanation: Explanation) -> Iterator[JsonObject]:
    few = DEVICES_LISTED // 10
    cut = f"It was too long: no more than {few} devices are named, the others are counted."
    yield {**explanation.to_json(most_devices=few), "cut": cut}
    counted = explanation.to_json(most_devices=0)
    yield {**counted, "cut": "It was too long: devices are counted, none is named."}
    groups = [_few_names(group) for group in objects(counted["groups"])]
    cut = (
        f"It was too long: {GROUPS_KEPT} of {len(groups)} groups of nodes are listed at most, with"
        f" {NAMES_KEPT} names each, and no suggestion."
    )
    yield {**counted, "groups": [*groups[:GROUPS_KEPT]], "suggestions": [], "cut": cut}


def _numbers(explanation: Explanation) -> JsonObject:
    """Keep the sentences' beginnings and the funnel."""
    shaped = explanation.to_json(most_devices=0)
    beginnings: JsonObject = {
        name: value[:SAID_CHARACTERS] if isinstance(value, str) else value
        for name, value in shaped.items()
    }
    nothing: JsonObject = {
        "together": None,
        "groups": [],
        "holders": {},
        "suggestions": [],
        "chosen": [],
        "cut": "It was too long: only its numbers are kept.",
    }
    return beginnings | nothing


def _few_names(group: JsonObject) -> JsonObject:
    names = group.get("names")
    return {**group, "names": names[:NAMES_KEPT] if isinstance(names, list) else []}
