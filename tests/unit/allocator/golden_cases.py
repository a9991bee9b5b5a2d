"""Cases that users met, from `tests/golden/cases/`: how they are read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import yaml

from dra_console.allocator.model import Json, JsonObject

CASES = Path(__file__).parents[2] / "golden" / "cases"
CHECKS = re.compile(r"## Checks\s+```yaml\n(.*?)```", re.DOTALL)

Check: TypeAlias = JsonObject


@dataclass(frozen=True, slots=True)
class Case:
    """One folder: the objects of the cluster, and what has to hold for them."""

    name: str
    objects: tuple[JsonObject, ...]
    checks: tuple[Check, ...]

    def named(self, reference: str) -> JsonObject:
        """Find an object by `Kind/namespace/name` or `Kind/name`."""
        return next(each for each in self.objects if reference_of(each) == reference)

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace; one that the file does not have has none."""
        for each in self.objects:
            if each["kind"] == "Namespace" and inside(each, "metadata", "name") == namespace:
                labels = inside(each, "metadata", "labels")
                return (
                    {key: str(value) for key, value in labels.items()}
                    if isinstance(labels, dict)
                    else {}
                )
        return {}


@cache
def read_cases() -> tuple[Case, ...]:
    """Read all cases, in order of their numbers; once, since every table of tests asks."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for folder in sorted(path for path in CASES.iterdir() if path.is_dir()):
        text = (folder / "input.yaml").read_text()
        # Each worker reads all of them while it collects its tests.
        documents = yaml.load_all(text, Loader=yaml.CSafeLoader)
        found = CHECKS.search((folder / "expected.md").read_text())
        assert found is not None, folder
        yield Case(
            name=folder.name,
            objects=tuple(each for each in documents if each),
            checks=tuple(yaml.safe_load(found[1])),
        )


def reference_of(obj: JsonObject) -> str:
    """Write `Kind/namespace/name`, or `Kind/name` for what has no namespace."""
    namespace = inside(obj, "metadata", "namespace")
    name = inside(obj, "metadata", "name")
    return "/".join(str(part) for part in (obj["kind"], namespace, name) if part)


def inside(obj: Json, *path: str) -> Json:
    """Follow a path of keys; absent is `None`."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def texts(value: Json) -> list[str]:
    """Read a text, or a list of texts."""
    entries = value if isinstance(value, list) else [] if value is None else [value]
    return [str(each) for each in entries]
