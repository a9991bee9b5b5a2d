"""A scenario: a state, what is changed about it, and the pod that is asked about.

Its JSON is canonical, so equal scenarios have one address. The address holds no secret and is
not signed: what its names mean to a reader is decided when it is answered (`resolving`).
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

import orjson

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.errors import DecodeError
from dra_console.scheduling.whatif.edits import Edit
from dra_console.scheduling.whatif.pods import PodShape

MOST_BYTES: Final = 6_000
"""Of JSON in an address: servers refuse longer lines."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Without a snapshot, the state is the one of now; without a pod, nothing is placed."""

    edits: tuple[Edit, ...] = ()
    pod: PodShape | None = None
    snapshot: str = ""

    def to_json(self) -> JsonObject:
        scenario: JsonObject = {"edits": [each.to_json() for each in self.edits]}
        if self.pod is not None:
            scenario["pod"] = self.pod.to_json()
        if self.snapshot:
            scenario["snapshot"] = self.snapshot
        return scenario


def token_of(scenario: Scenario) -> str:
    """Write a scenario for an address."""
    packed = orjson.dumps(scenario.to_json(), option=orjson.OPT_SORT_KEYS)
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


def json_of_token(token: str) -> object:
    """Read the JSON in an address.

    Raises:
        DecodeError: it is none, or too long.

    """
    if len(token) > MOST_BYTES * 4 // 3 + 3:
        raise DecodeError("scenario", f"expected at most {MOST_BYTES} bytes")
    try:
        packed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        return orjson.loads(packed)
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError) as error:
        raise DecodeError("scenario", "the address was cut off or changed") from error
