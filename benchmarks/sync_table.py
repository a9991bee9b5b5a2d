"""The tables of `benchmarks.sync`: costs of mirroring, the worker, decoding, targets."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.table import aligned, duration, listing
from dra_console.allocator.model import JsonObject

COLD_SECONDS: Final[Mapping[str, float]] = {"sqlite": 5.0, "postgresql": 8.0}
UNCHANGED_SECONDS: Final = 1.0
DELAY_SECONDS: Final = 1.0
WORKER_MEBIBYTES: Final = 300.0
WORKERS: Final[Mapping[str, str]] = {
    "sync,default": "the mirror's worker",
    "sync,schedule,default": "a worker of all queues",
}
"""By the queues that they take; the first leaves allocation to another one."""

TITLES: Final[Mapping[str, str]] = {
    "cold": "first list of everything",
    "unchanged": "list again, nothing changed",
    "changed": "list again, 1 % changed",
}


def figures(steps: Sequence[JsonObject], decoding: Sequence[JsonObject], facts: JsonObject) -> str:
    """Write everything as Markdown."""
    return "\n\n".join(
        [listing(facts), costs(steps), workers(steps), decoded(decoding), targets(steps)]
    )


def costs(steps: Sequence[JsonObject]) -> str:
    """Tell what lists and batches of events took."""
    header = ["", "database", "wall", "CPU here", "CPU of PostgreSQL", "objects or events/s"]
    lines = [
        [
            TITLES.get(str(step["step"])) or f"events, {step['batch']} in a transaction",
            str(step["database"]),
            duration(_number(step, "wall_seconds")),
            duration(_number(step, "cpu_seconds")),
            duration(_number(step, "database_cpu_seconds"))
            if step["database"] == "postgresql"
            else "-",
            f"{_number(step, 'objects') / _number(step, 'wall_seconds'):,.0f}",
        ]
        for step in steps
        if step["step"] != "worker"
    ]
    return aligned([header, *lines])


def workers(steps: Sequence[JsonObject]) -> str:
    """Tell what real workers took, from their start on."""
    header = [
        "",
        "queues",
        "database",
        "start to listed",
        "CPU of it",
        "peak memory",
        "memory then",
    ]
    header += ["event to page p50", "p95", "longest"]
    lines = [
        [
            WORKERS[str(step["queues"])],
            f"`{step['queues']}`",
            str(step["database"]),
            duration(_number(step, "from_start_to_listed_seconds")),
            duration(_number(step, "from_start_to_listed_cpu_seconds")),
            f"{_number(step, 'peak_mebibytes'):.0f} MiB",
            f"{_number(step, 'now_mebibytes'):.0f} MiB",
            duration(_number(step, "delay_p50_seconds")),
            duration(_number(step, "delay_p95_seconds")),
            duration(_number(step, "delay_longest_seconds")),
        ]
        for step in _named(steps, "worker")
    ]
    return aligned([header, *lines])


def decoded(rates: Sequence[JsonObject]) -> str:
    """Tell how fast one page is read."""
    header = ["one page of 500", "read as", "bytes each", "objects/s"]
    lines = [
        [
            str(rate["kind"]),
            str(rate["way"]),
            str(rate["bytes_an_object"]),
            f"{_number(rate, 'objects_a_second'):,.0f}",
        ]
        for rate in rates
    ]
    return aligned([header, *lines])


def targets(steps: Sequence[JsonObject]) -> str:
    """Hold the figures against the targets (B9)."""
    lines = [["target", "database", "measured", "met"]]
    for step in _named(steps, "cold"):
        limit = COLD_SECONDS[str(step["database"])]
        lines.append(_target(step, "first list", _number(step, "wall_seconds"), limit))
    lines += [
        _target(step, "unchanged list", _number(step, "wall_seconds"), UNCHANGED_SECONDS)
        for step in _named(steps, "unchanged")
    ]
    for step in _named(steps, "worker"):
        delay, peak = _number(step, "delay_p95_seconds"), _number(step, "peak_mebibytes")
        who = WORKERS[str(step["queues"])]
        lines.append(_target(step, f"{who}: event seen on a page", delay, DELAY_SECONDS))
        met = "yes" if peak < WORKER_MEBIBYTES else "NO"
        what = f"{who} < {WORKER_MEBIBYTES:.0f} MiB"
        lines.append([what, str(step["database"]), f"{peak:.0f} MiB", met])
    return aligned(lines)


def _target(step: JsonObject, what: str, seconds: float, limit_seconds: float) -> list[str]:
    met = "yes" if seconds < limit_seconds else "NO"
    return [f"{what} < {limit_seconds:g} s", str(step["database"]), duration(seconds), met]


def _named(steps: Sequence[JsonObject], name: str) -> list[JsonObject]:
    return [step for step in steps if step["step"] == name]


def _number(step: JsonObject, name: str) -> float:
    value = step[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return float(value)
