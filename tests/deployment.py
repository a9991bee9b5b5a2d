"""The objects that `kubectl apply -k deploy/node-agent` makes, read from its files."""

from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parents[1] / "deploy/node-agent"

Manifest = dict[str, Any]


def kustomization() -> Manifest:
    """Return what is put together, and how."""
    read: Manifest = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    return read


def manifests() -> list[Manifest]:
    """Return every object, in the order of the kustomization."""
    return [
        one
        for name in kustomization()["resources"]
        for one in yaml.safe_load_all((FOLDER / name).read_text())
    ]


def the(kind: str) -> Manifest:
    """Return the only object of a kind."""
    (found,) = (one for one in manifests() if one["kind"] == kind)
    return found
