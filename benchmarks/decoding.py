"""How fast pages of a list become objects: the client library's models, dicts, what we read."""

import time
from collections.abc import Callable, Iterator
from typing import Final

import kubernetes.client
import orjson
from kubernetes.client import ApiClient

from benchmarks.api_server import pages_of
from benchmarks.mirror_objects import Fleet
from dra_console.allocator.model import JsonObject
from dra_console.kube.changed import changed_pages_of
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES, Kind

OBJECTS: Final = 500
SHORTEST_SECONDS: Final = 0.5


def decoding_rates() -> Iterator[JsonObject]:
    """Measure objects a second for each kind and way, on one page."""
    fleet = Fleet(nodes=OBJECTS, gpus=8, claims=OBJECTS)
    for kind in (RESOURCE_SLICES, RESOURCE_CLAIMS):
        (page,) = pages_of(kind, list(fleet.objects(kind, changed=False)))
        for way, read in ways(kind).items():
            yield {
                "kind": kind.plural,
                "way": way,
                "bytes_an_object": len(page) // OBJECTS,
                "objects_a_second": OBJECTS / seconds_of(read, page),
            }


def ways(kind: Kind) -> dict[str, Callable[[bytes], object]]:
    """Name the ways to read a page."""
    model = f"V1{kind.kind}List"
    if not hasattr(kubernetes.client, model):
        raise AssertionError(f"the client library has no {model}")

    def as_models(page: bytes) -> object:
        return ApiClient().deserialize(page.decode(), model, "application/json")

    def as_changes(page: bytes, *, is_known: bool) -> object:
        pages = changed_pages_of(lambda asked, _: (page, asked), kind, is_known=lambda _: is_known)
        return next(pages)

    return {
        "the client library's models": as_models,
        "plain dicts (orjson)": orjson.loads,
        "ours, everything new": lambda page: as_changes(page, is_known=False),
        "ours, everything known": lambda page: as_changes(page, is_known=True),
    }


def seconds_of(read: Callable[[bytes], object], page: bytes) -> float:
    """Return the processor time of one reading, the best of several."""
    best = float("inf")
    spent = 0.0
    while spent < SHORTEST_SECONDS:
        began = time.process_time()
        read(page)
        took = time.process_time() - began
        best, spent = min(best, took), spent + took
    return best
