"""One line of a scenario file, and the answer to it.

The format is shared with the oracle, which answers with Kubernetes' own code, so that a
plain difference of two outputs is the test. Nodes are tried in the order of the objects, as
upstream's caller does, and claims are allocated in the order in which they are named.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.command.features import features_named
from dra_console.allocator.command.gathering import Gathering, ObjectError
from dra_console.allocator.command.json_reading import read_value
from dra_console.allocator.decoding.reading import Fields, kind_of
from dra_console.allocator.errors import AllocatorError, DecodeError
from dra_console.allocator.model import Node, ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, DoesNotFit
from dra_console.allocator.rules import DEFAULT_RULES, Rules
from dra_console.allocator.search.first_fit import FirstFit, first_fit
from dra_console.allocator.world.index import index_of

NANOSECONDS_PER_MICROSECOND: Final = 1_000
STEP_BUDGET: Final = 200_000
"""For each node; four times the usual, since nobody waits for a page here."""


class ScenarioError(AllocatorError):
    """A line is no scenario; `id` is the line's own, as far as it could be read."""

    def __init__(self, message: str, *, scenario_id: Json = None) -> None:
        super().__init__(message)
        self.scenario_id = scenario_id


@dataclass(frozen=True, slots=True)
class Scenario:
    """A world and the claims of one pod in it; `nodes` are those to try, in order."""

    id: Json
    snapshot: Snapshot
    claims: tuple[ResourceClaim, ...]
    nodes: tuple[Node, ...]
    rules: Rules = DEFAULT_RULES

    @classmethod
    def decode(cls, line: str | bytes) -> Self:
        """Read a line.

        Raises:
            ScenarioError: it is not JSON, or an object in it cannot be read.

        """
        fields = _fields(line)
        scenario_id = fields.raw.get("id")
        try:
            return cls._read(fields, scenario_id)
        except (DecodeError, ObjectError) as error:
            raise ScenarioError(str(error), scenario_id=scenario_id) from error

    @classmethod
    def _read(cls, fields: Fields, scenario_id: Json) -> Self:
        if not fields.has("objects"):
            raise DecodeError("objects", "expected a list of API objects, got none")
        gathering = Gathering()
        for entry in fields.children("objects"):
            gathering.take(entry.raw)
        return cls(
            id=scenario_id,
            snapshot=gathering.snapshot(),
            claims=_claims(fields, gathering.claims),
            nodes=_nodes(fields, gathering.nodes),
            rules=_rules(fields),
        )


def answer(scenario: Scenario) -> JsonObject:
    """Allocate, and write the answer's line; `micros` includes a cold index."""
    started = time.perf_counter_ns()
    index = index_of(replace(scenario.snapshot), rules=scenario.rules)
    found = first_fit(index, scenario.claims, nodes=scenario.nodes, step_budget=STEP_BUDGET)
    outcome = _outcome(scenario, found)
    micros = (time.perf_counter_ns() - started) // NANOSECONDS_PER_MICROSECOND
    return {"id": scenario.id, **outcome, "micros": micros}


def answer_to(line: str | bytes) -> JsonObject:
    """Answer a line, whatever it is."""
    try:
        scenario = Scenario.decode(line)
    except ScenarioError as error:
        return refusal(str(error), scenario_id=error.scenario_id)
    return answer(scenario)


def refusal(message: str, *, scenario_id: Json) -> JsonObject:
    """Write the answer to a line that is no scenario."""
    return {"id": scenario_id, "outcome": "error", "error": message, "micros": 0}


def _outcome(scenario: Scenario, found: FirstFit) -> JsonObject:
    match found.outcome:
        case Allocated(results):
            allocations: JsonObject = {
                claim.key: result.to_json()
                for claim, result in zip(scenario.claims, results, strict=True)
            }
            node = found.node.name if found.node else None
            return {"outcome": "allocated", "node": node, "allocations": allocations}
        case DoesNotFit():
            return {"outcome": "unallocatable"}
        case BrokenInput(message):
            return {"outcome": "error", "error": message}
        case BudgetExhausted():
            return {"outcome": "budget"}


def _fields(line: str | bytes) -> Fields:
    try:
        text = (line if isinstance(line, str) else line.decode()).strip()
        parsed, end = read_value(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"expected one JSON object a line: {error}") from error
    if end < len(text):
        raise ScenarioError(f"expected one JSON object a line, got more from column {end + 1} on")
    if not isinstance(parsed, dict):
        raise ScenarioError(f"expected one JSON object a line, got {kind_of(parsed)}")
    return Fields("", parsed)


def _claims(fields: Fields, claims: Sequence[ResourceClaim]) -> tuple[ResourceClaim, ...]:
    """Find the named claims, or all that hold nothing yet."""
    if not fields.has("claims"):
        return tuple(claim for claim in claims if claim.allocation is None)
    by_key = {claim.key: claim for claim in claims}
    return tuple(_found(by_key, key, fields.path_of("claims")) for key in fields.texts("claims"))


def _found(by_key: Mapping[str, ResourceClaim], key: str, path: str) -> ResourceClaim:
    if key not in by_key:
        raise DecodeError(path, f"claim {key} is not among the objects")
    return by_key[key]


def _nodes(fields: Fields, nodes: Sequence[Node]) -> tuple[Node, ...]:
    name = fields.optional_text("node")
    if name is None:
        return tuple(nodes)
    restricted = tuple(node for node in nodes if node.name == name)
    if not restricted:
        raise DecodeError(fields.path_of("node"), f"node {name} is not among the objects")
    return restricted


def _rules(fields: Fields) -> Rules:
    if not fields.has("features"):
        return DEFAULT_RULES
    return Rules(features=features_named(fields.texts("features"), path=fields.path_of("features")))
