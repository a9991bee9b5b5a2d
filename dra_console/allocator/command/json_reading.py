"""JSON as Kubernetes' own programs read it.

Python's reader knows NaN, and keeps half of a surrogate pair, which no other program takes
and no file can hold; Go's refuses the first and writes U+FFFD for the second.
"""

import json
import re
from typing import Final, NoReturn

from dra_console.allocator.api_json import Json

SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
SURROGATE: Final = re.compile("[\ud800-\udfff]")
REPLACEMENT: Final = "\ufffd"


def read_value(text: str, position: int = 0) -> tuple[Json, int]:
    """Read one value and return it with the position after it.

    Raises:
        json.JSONDecodeError: it is not JSON, from a known position on.
        ValueError: a number is none, or has too many digits.
        RecursionError: it is nested too deeply.

    """
    value: Json
    value, end = _DECODER.raw_decode(text, position)
    if SURROGATE_ESCAPE.search(text, position, end):
        value = _without_surrogates(value)
    return value, end


def _without_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {
            SURROGATE.sub(REPLACEMENT, key): _without_surrogates(each)
            for key, each in value.items()
        }
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
