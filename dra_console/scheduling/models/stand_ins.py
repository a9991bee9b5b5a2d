"""Stand-ins for the names of claims in an explanation that is shared by all who ask alike.

A claim is explained as `stand-in(0)`, the next of its pod as `stand-in(1)`, in a namespace that
is a stand-in, too. Before anybody reads the explanation, the names of the claims at hand take
their places. The characters around the number are for private use (Unicode, U+E000 and U+E001):
no name of Kubernetes has them.
"""

import re
from collections.abc import Sequence
from typing import Final

from dra_console.allocator.model import Json, JsonObject

NAMESPACE: Final = "\ue000n\ue001"

_PATTERN: Final = re.compile("\ue000(n|\\d+)\ue001")


def stand_in(position: int) -> str:
    """Stand for the name of the claim at this place among a pod's claims."""
    return f"\ue000{position}\ue001"


def named(text: str, *, namespace: str, claim_names: Sequence[str]) -> str:
    """Put names into a text; a place for which there is no claim reads `a claim`."""

    def name(found: re.Match[str]) -> str:
        if found[1] == "n":
            return namespace
        position = int(found[1])
        return claim_names[position] if position < len(claim_names) else "a claim"

    return _PATTERN.sub(name, text)


def with_names(body: JsonObject, *, namespace: str, claim_names: Sequence[str]) -> JsonObject:
    """Copy an explanation with names put into each text and key."""

    def copy(value: Json) -> Json:
        if isinstance(value, str):
            is_plain = "\ue000" not in value
            return value if is_plain else named(value, namespace=namespace, claim_names=claim_names)
        if isinstance(value, list):
            return [copy(each) for each in value]
        if isinstance(value, dict):
            return {str(copy(key)): copy(each) for key, each in value.items()}
        return value

    return {str(copy(key)): copy(each) for key, each in body.items()}
