"""Kubernetes' own allocator on the same scenarios: the Go program `tests/oracle`, verb `bench`.

It is built when Go is there; without Go the benchmark runs on and leaves its columns empty.
What it times is NewAllocator and Allocate over the nodes, never JSON.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import orjson

from benchmarks.answers import Placement
from benchmarks.scenarios import Scenario
from benchmarks.targets import Column
from tests.oracle.go import build

TIMES: Final[Mapping[str, Column]] = {
    "firstNanoseconds": Column.GO_FIRST,
    "coldNanoseconds": Column.GO_COLD,
    "podNanoseconds": Column.GO_POD,
    "warmNanoseconds": Column.GO_WARM,
}


class UpstreamError(Exception):
    """The Go program ended or answered something else than expected."""


@dataclass(frozen=True, slots=True)
class UpstreamAnswer:
    """Placements and times; without placements the limit ended the search."""

    placements: Sequence[Placement] | None
    seconds: Mapping[Column, float]


@dataclass(frozen=True, slots=True)
class Upstream:
    """The built program, and how long to measure with it."""

    binary: Path
    seconds: float
    processes: int = 2
    """How often the first figure is taken; each takes a new process."""

    def answer(self, scenario: Scenario) -> UpstreamAnswer:
        """Let upstream answer and time one scenario.

        Raises:
            UpstreamError: the program failed; it wrote the reason on standard error.

        """
        answers = [
            self._run(scenario, seconds=seconds)
            for seconds in (*[0.0] * (self.processes - 1), self.seconds)
        ]
        first = min(each.seconds[Column.GO_FIRST] for each in answers)
        return replace(answers[-1], seconds={**answers[-1].seconds, Column.GO_FIRST: first})

    def _run(self, scenario: Scenario, *, seconds: float) -> UpstreamAnswer:
        world = {"world": scenario.world.name, "objects": scenario.world.objects}
        question = {
            "id": scenario.key,
            "world": scenario.world.name,
            "claim": scenario.claim_object,
            "pods": scenario.pods,
            "seconds": seconds,
            "limitSeconds": scenario.limit_seconds,
        }
        lines = b"".join(orjson.dumps(line) + b"\n" for line in (world, question))
        done = subprocess.run(
            [self.binary, "bench"], input=lines, stdout=subprocess.PIPE, check=False
        )
        if done.returncode:
            raise UpstreamError(f"{scenario.key}: oracle bench ended with {done.returncode}")
        return _answer(json.loads(done.stdout), limit_seconds=scenario.limit_seconds)


def build_oracle() -> Path | None:
    """Build the Go program, or return `None` where there is no Go.

    Raises:
        OracleError: Go is there and the program does not build.

    """
    return None if shutil.which("go") is None else build()


def _answer(answer: dict[str, object], *, limit_seconds: float) -> UpstreamAnswer:
    if answer["isUnfinished"]:
        return UpstreamAnswer(None, dict.fromkeys(TIMES.values(), limit_seconds))
    return UpstreamAnswer(
        placements=_placements(answer["pods"]),
        seconds={
            column: nanoseconds / 1e9
            for name, column in TIMES.items()
            if isinstance(nanoseconds := answer[name], (int, float)) and nanoseconds
        },
    )


def _placements(pods: object) -> tuple[Placement, ...]:
    if not isinstance(pods, list):
        raise UpstreamError(f"pods: expected a list, got {pods!r}")
    return tuple(Placement(pod["node"], tuple(pod["devices"])) for pod in pods)
