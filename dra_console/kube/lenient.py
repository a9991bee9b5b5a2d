"""Read the JSON that an API server may send and strict readers refuse.

What a claim or class says to its driver (RawExtension) is passed on byte for byte as its
author sent it. Kubernetes 1.37 takes and sends half a surrogate pair, bytes that are no
UTF-8, and nesting of thousands of levels. A list is one JSON text, so whoever refuses one
such object refuses all objects of its kind: anybody who may create a claim could blind the
console. Hence what the fast reader refuses is read again here, as Go reads it: what is no
character becomes U+FFFD.

Where Go keeps on, Python's own reader would not: nesting below `DEEPEST_LEVEL` is left out,
with a text in its place that says so, and a number that is no double is kept as its text.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Final

from dra_console.allocator.model import Json

DEEPEST_LEVEL: Final = 300
"""Python's own reader allows about 1,000, callers included."""

LEFT_OUT: Final = "(nested too deep to be kept)"
INTEGERS: Final = range(-(2**63), 2**64)
"""What the fast reader keeps exact; others become doubles there and here."""

LONGEST_INTEGER: Final = 20
"""Digits of 64 bits, or those of 63 and a sign."""

_STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\.",
    re.DOTALL,
)
"""A surrogate pair, half a one, or anything else that a backslash begins."""


def loads_leniently(raw: bytes) -> Json:
    """Decode one JSON text as Go would.

    Raises:
        ValueError: it is not JSON by Go's rules either.

    """
    text = "".join(_without_depths(raw.decode(errors="replace")))
    whole = _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)
    decoded: Json = json.loads(
        whole, parse_int=_integer, parse_float=_number, parse_constant=_refuse
    )
    return decoded


def _without_depths(text: str) -> Iterator[str]:
    """Yield `text` piece by piece, with `LEFT_OUT` for what lies too deep."""
    level = kept_to = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        match found[0][0]:
            case "[" | "{":
                level += 1
                if level == DEEPEST_LEVEL + 1:
                    yield text[kept_to : found.start()]
            case "]" | "}":
                level -= 1
                if level == DEEPEST_LEVEL:
                    yield json.dumps(LEFT_OUT)
                    kept_to = found.end()
    if level <= DEEPEST_LEVEL:
        yield text[kept_to:]


def _integer(digits: str) -> Json:
    if len(digits) > LONGEST_INTEGER:
        return _number(digits)
    value = int(digits)
    return value if value in INTEGERS else float(value)


def _number(text: str) -> Json:
    value = float(text)
    return value if math.isfinite(value) else text


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON")
