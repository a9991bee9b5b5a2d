"""The tables of `benchmarks.allocating`: how long claims waited, and what was aimed at."""

from collections.abc import Sequence
from typing import Final

from benchmarks.table import aligned, duration, listing
from dra_console.allocator.model import JsonObject

P50_SECONDS: Final = 0.020
P99_SECONDS: Final = 0.100


def figures(steps: Sequence[JsonObject], facts: JsonObject) -> str:
    """Write all figures as Markdown."""
    return "\n\n".join((listing(facts), _waits(steps), _targets(steps)))


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
        "CPU of the allocator",
        "its memory",
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
            duration(_number(step, "allocator_cpu_seconds")),
            f"{_number(step, 'allocator_mebibytes'):.0f} MiB",
        ]
        for step in steps
    ]
    return aligned([heads, *rows])


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
