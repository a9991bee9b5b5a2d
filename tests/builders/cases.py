"""Cases met by people who work with DRA, as `tests/golden/cases` holds them."""

from pathlib import Path

import yaml

from dra_console.allocator.model import JsonObject

CASES = Path(__file__).parents[1] / "golden" / "cases"


def case_objects(case: str) -> list[JsonObject]:
    """Read the objects of one case, by its folder's name, in their order."""
    with (CASES / case / "input.yaml").open() as file:
        return list(yaml.safe_load_all(file))


def case_object(case: str, kind: str, name: str) -> JsonObject:
    """Read one object of a case."""
    for stored in case_objects(case):
        metadata = stored["metadata"]
        assert isinstance(metadata, dict)
        if (stored["kind"], metadata["name"]) == (kind, name):
            return stored
    raise LookupError(f"case {case} has no {kind} {name}")
