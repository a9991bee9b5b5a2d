"""What-if answers on 5,000 nodes x 8 GPUs: how long each kind of scenario takes.

`python -m benchmarks.whatif` builds a fleet of which half the GPUs are held, asks, and prints a
table. Cold: nothing is known of the state yet, as for the first question after a restart. Warm:
something else was asked about the same state before. Reading the mirror is left out. Times are of
the processor, so that neighbours on the machine count for less; the garbage collector looks as
seldom as it does in a `web` process.
"""

import argparse
import gc
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

import django

django.setup()

from benchmarks.fleets import (  # noqa: E402 - Django had to be set up first
    DRIVER,
    NAMESPACE,
    WHOLE_GPUS,
    World,
    attribute,
    gpu_fleet,
    node_name,
)
from benchmarks.machine import machine  # noqa: E402
from benchmarks.table import aligned, duration, renew  # noqa: E402
from dra_console.allocator.model import JsonObject  # noqa: E402
from dra_console.scheduling.whatif.answering import Answer, Sources, answer  # noqa: E402
from dra_console.scheduling.whatif.decoding import decode_scenario  # noqa: E402
from dra_console.scheduling.whatif.rights import Rights  # noqa: E402
from dra_console.scheduling.whatif.states import Chosen, State  # noqa: E402
from dra_console.sync.collector import look_less_often  # noqa: E402

TARGET_SECONDS: Final = 2.0
HELD_SHARE: Final = 0.5
"""Of the GPUs."""

SOURCES: Final = Sources(lambda *_: None, lambda _: {})
H100: Final = f"{attribute('productName')}.contains('H100')"


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario with its times, and the numbers that show that it was answered."""

    title: str
    cold_seconds: float
    warm_seconds: float
    today: int
    then: int

    @property
    def is_met(self) -> bool:
        return max(self.cold_seconds, self.warm_seconds) < TARGET_SECONDS

    def to_json(self) -> JsonObject:
        return {
            "title": self.title,
            "cold_seconds": self.cold_seconds,
            "warm_seconds": self.warm_seconds,
            "today": self.today,
            "then": self.then,
            "met": self.is_met,
        }


def a_template(name: str, count: int, *selectors: str) -> JsonObject:
    """Build a template that asks for whole GPUs."""
    wish: JsonObject = {
        "deviceClassName": WHOLE_GPUS,
        "count": count,
        "selectors": [{"cel": {"expression": each}} for each in selectors],
    }
    requests: JsonObject = {"devices": {"requests": [{"name": "gpu", "exactly": wish}]}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {"spec": requests},
    }


def of_template(name: str) -> JsonObject:
    """Describe a pod with one claim of a template."""
    return {"claims": [{"template": {"namespace": NAMESPACE, "name": name}}]}


TEMPLATES: Final = {
    (NAMESPACE, name): a_template(name, count, *selectors)
    for name, count, selectors in (
        ("one", 1, ()),
        ("two", 2, ()),
        ("four", 4, ()),
        ("h100", 1, (H100,)),
    )
}


def scenarios() -> Iterator[tuple[str, JsonObject]]:
    """Name scenarios of each kind."""
    pod = of_template("four")
    taint: JsonObject = {"type": "taint", "key": "example.com/sick", "effect": "NoExecute"}

    def scenario(*edits: JsonObject) -> JsonObject:
        return {"pod": pod, "edits": [*edits]}

    yield "how often does a template fit (4 GPUs)", scenario()
    yield "100 nodes more", scenario({"type": "addNodes", "like": node_name(1), "count": 100})
    yield "a node drained", scenario({"type": "drainNode", "node": node_name(1)})
    yield "a node tainted", scenario({**taint, "devices": {"node": node_name(3)}})
    yield "every GPU tainted", scenario({**taint, "devices": {"driver": DRIVER}})
    yield (
        "1,000 pods that come first",
        scenario({"type": "addPods", "pod": of_template("one"), "count": 1_000}),
    )


def measure(world: World, title: str, raw: JsonObject) -> Row:
    """Answer on a state of which nothing is known, then on one that was asked before."""
    cold, found = timed(a_state(world), raw)
    known = a_state(world)
    timed(known, {"pod": of_template("one")})
    warm, _ = timed(known, raw)
    return Row(
        title,
        cold,
        warm,
        found.today.count if found.today else 0,
        found.then.count if found.then else 0,
    )


def a_state(world: World) -> State:
    """Take a state of which nothing is known yet."""
    return State("bench", datetime.now(UTC), replace(world.snapshot), TEMPLATES, {})


def timed(state: State, raw: JsonObject) -> tuple[float, Answer]:
    """Answer a scenario; seconds of processor time."""
    gc.collect()
    gc.freeze()
    start = time.process_time()
    found = answer(
        Chosen(state, is_current=True),
        decode_scenario(raw),
        rights=Rights(claims=None, templates=None),
        sources=SOURCES,
    )
    return time.process_time() - start, found


def figures(rows: list[Row], facts: JsonObject) -> str:
    """Write the table, with the machine and the load it was measured on."""
    header = ["scenario", "cold", "warm", "fit today", "fit then", "target", "met"]
    lines = [
        [
            row.title,
            duration(row.cold_seconds),
            duration(row.warm_seconds),
            f"{row.today:,}",
            f"{row.then:,}",
            f"< {TARGET_SECONDS:g} s",
            "yes" if row.is_met else "NO",
        ]
        for row in rows
    ]
    told = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    return f"{told}\n\n{aligned([header, *lines])}"


def main() -> None:
    """Measure and print; renew the document if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000, help="each with one slice of 8 GPUs")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--document", type=Path, help="Markdown file whose figures to renew")
    options = parser.parse_args()
    look_less_often()
    random = Random(1)  # noqa: S311 - the same fleet each time
    held = [
        (node, gpu)
        for node in range(options.nodes)
        for gpu in range(8)
        if random.random() < HELD_SHARE
    ]
    world = gpu_fleet("half held", nodes=options.nodes, gpus=8, held=held)
    rows = [measure(world, title, raw) for title, raw in scenarios()]
    facts = machine()
    facts["fleet"] = f"{options.nodes:,} nodes, {options.nodes * 8:,} GPUs, {len(held):,} held"
    written = figures(rows, facts)
    print(written)
    if options.document:
        renew(options.document, written)
    if options.json:
        result = {"machine": facts, "rows": [row.to_json() for row in rows]}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
