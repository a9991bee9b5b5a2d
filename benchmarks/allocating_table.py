"""The tables of `benchmarks.allocating`: how long claims waited, and what was aimed at."""

from collections.abc import Sequence
from typing import Final

from benchmarks.table import aligned, duration, listing
from dra_console.allocator.model import JsonObject

P50_SECONDS: Final = 0.020
P99_SECONDS: Final = 0.100
ROLES: Final = (
    ("allocator", "allocator"),
    ("mirror", "mirror"),
    ("database", "database"),
    ("redis", "Redis"),
    ("api_server", "API server"),
    ("etcd", "etcd"),
    ("load", "who creates claims and watches"),
)
"""Processes by `benchmarks.processes`, and what they are called in tables."""


def figures(steps: Sequence[JsonObject], facts: JsonObject) -> str:
    """Write all figures as Markdown."""
    return "\n\n".join((listing(facts), _waits(steps), _costs(steps), _targets(steps)))


def _waits(steps: Sequence[JsonObject]) -> str:
    heads = [
        "claims",
        "API server",
        "database",
        "allocated",
        "claims/s",
        "p50",
        "p95",
        "p99",
        "longest",
        "memory of the allocator",
    ]
    rows = [
        [
            str(step["step"]),
            str(step["api"]),
            str(step["database"]),
            f"{step['allocated']:,} of {step['claims']:,}",
            f"{_number(step, 'rate'):.0f}",
            *(duration(_number(step, f"p{share}_seconds")) for share in (50, 95, 99)),
            duration(_number(step, "longest_seconds")),
            f"{_number(step, 'allocator_mebibytes'):.0f} MiB",
        ]
        for step in steps
    ]
    return aligned([heads, *rows])


def _costs(steps: Sequence[JsonObject]) -> str:
    """Say what each claim cost each process, in milliseconds of a processor."""
    heads = ["CPU for each claim", "API server", "database", *(words for _, words in ROLES), "all"]
    rows = [heads]
    for step in steps:
        found = step["cpu_seconds"]
        seconds = found if isinstance(found, dict) else {}
        spent = [_number(seconds, role) if role in seconds else 0.0 for role, _ in ROLES]
        claims = max(_number(step, "allocated"), 1.0)
        rows.append(
            [
                str(step["step"]),
                str(step["api"]),
                str(step["database"]),
                *(duration(each / claims) for each in (*spent, sum(spent))),
            ]
        )
    return aligned(rows)


def _targets(steps: Sequence[JsonObject]) -> str:
    rows = [["target", "claims", "database", "measured", "met"]]
    for step in steps:
        if step["api"] != "embedded":
            continue
        for name, limit in (("p50", P50_SECONDS), ("p99", P99_SECONDS)):
            seconds = _number(step, f"{name}_seconds")
            is_met = seconds < limit and step["allocated"] == step["claims"]
            rows.append(
                [
                    f"{name} < {duration(limit)}",
                    str(step["step"]),
                    str(step["database"]),
                    duration(seconds),
                    "yes" if is_met else "NO",
                ]
            )
    return aligned(rows)


def _number(step: JsonObject, name: str) -> float:
    value = step[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return float(value)
