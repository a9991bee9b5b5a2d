"""What a container gets by CDI names, by the rules that runtimes share (node-agent.md 3.1 to 3.4).

Used where no runtime runs, by kubelet's stand-in for one; `tests/cluster` holds it against the
runtimes' own code.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nodeagent.cdi.validate import problems

SUFFIXES: Final = (".json", ".yaml")


class UnresolvableError(Exception):
    """A name means nothing, or two things."""


@dataclass(frozen=True, slots=True)
class Container:
    """What is added to a container."""

    env: dict[str, str]
    nodes: dict[str, dict[str, Any]]
    """By path in the container, as the file has them."""

    mounts: dict[str, dict[str, Any]]
    """By path in the container, as the file has them."""

    hooks: tuple[dict[str, Any], ...]
    groups: frozenset[int]


def resolve(directories: Iterable[Path], names: Iterable[str]) -> Container:
    """Merge the edits of devices; a later directory beats an earlier one.

    Raises:
        UnresolvableError: a name is in no valid file, or twice in one directory.

    """
    known: dict[str, tuple[Path, dict[str, Any]]] = {}
    for directory in directories:
        known |= _devices(directory)
    env: dict[str, str] = {}
    nodes: dict[str, dict[str, Any]] = {}
    mounts: dict[str, dict[str, Any]] = {}
    hooks: list[dict[str, Any]] = []
    groups: set[int] = set()
    for edits in _edits(known, names):
        env |= dict(setting.split("=", 1) for setting in edits.get("env", []))
        nodes |= {node["path"]: node for node in edits.get("deviceNodes", [])}
        mounts |= {mount["containerPath"]: mount for mount in edits.get("mounts", [])}
        hooks += edits.get("hooks", [])
        groups |= {group for group in edits.get("additionalGids", []) if group}
    return Container(env, nodes, mounts, tuple(hooks), frozenset(groups))


def _edits(
    known: dict[str, tuple[Path, dict[str, Any]]], names: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield what each name brings; what is common to a file comes once, with its first device."""
    seen: set[Path] = set()
    for name in names:
        if name not in known:
            raise UnresolvableError(f"unresolvable CDI devices {name}")
        path, spec = known[name]
        if path not in seen:
            seen.add(path)
            yield spec.get("containerEdits") or {}
        wanted = name.partition("=")[2]
        yield next(one for one in spec["devices"] if one["name"] == wanted)["containerEdits"]


def _devices(directory: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    twice: set[str] = set()
    for path in sorted(directory.glob("*")):
        spec = _valid(path)
        for device in spec["devices"] if spec else ():
            name = f"{spec['kind']}={device['name']}"
            if name in found:
                twice.add(name)
            found[name] = (path, spec)
    return {name: place for name, place in found.items() if name not in twice}


def _valid(path: Path) -> dict[str, Any]:
    """Read a file, or nothing where a runtime would leave it out."""
    if path.suffix not in SUFFIXES:
        return {}
    try:
        spec = json.loads(path.read_text())
    except ValueError:
        return {}
    return {} if problems(spec) else spec
