"""CDI files broken in one place: what each field must not be."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Place = tuple[str | int, ...]
Choose = Callable[[list[tuple[Place, Any]]], list[tuple[Place, Any]]]

REQUIRED: Final = {
    "": ("cdiVersion", "kind", "devices"),
    "devices": ("name", "containerEdits"),
    "deviceNodes": ("path",),
    "mounts": ("hostPath", "containerPath"),
    "hooks": ("hookName", "path"),
}
"""What must not be left out, by the member that holds the object."""

ABSOLUTE: Final = ("path", "hostPath", "containerPath")
ANYTHING: Final[tuple[Any, ...]] = (
    None, "", "x", "a=b", "/x", "x\x7f", "x\x01", "\U0001f600", True, 0, -1, 3, 1.5, 1 << 32,
    1 << 40, [], ["x"], ["/x"], [7], [None], {}, {"x": "y"}, {"path": "/x"},
)  # fmt: skip
"""Values to put anywhere."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A broken spec, and the field that the refusal has to name."""

    what: str
    field: str
    spec: Any


def broken_in_one_field(spec: Any) -> Iterator[Damage]:
    """Yield every way to break one field that a runtime, runc or the kernel refuses."""
    for path, value in _places(spec):
        member = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
        if isinstance(value, dict):
            unknown = (*path, "unheardOf")
            yield _with(spec, "unknown member", unknown, lambda at, key: at.update({key: 1}))
            for name in REQUIRED.get(member, ()):
                yield _with(spec, "left out", (*path, name), lambda at, key: at.pop(key))
                yield _with(spec, "null", (*path, name), lambda at, key: at.update({key: None}))
        if path:
            wrong = 7 if isinstance(value, str) else "x"
            yield _set(spec, "of another kind", path, wrong)
        if isinstance(value, str):
            yield _set(spec, "not printable", path, f"{value}\x7f")
        if isinstance(value, str) and member in ABSOLUTE:
            yield _set(spec, "relative", path, value.lstrip("/"))
        if isinstance(value, int):
            yield _set(spec, "below zero", path, -1)
            yield _set(spec, "beyond 32 bits", path, 1 << 40)
        yield from _by_member(spec, path, member, value)


def _by_member(spec: Any, path: Place, member: str, value: Any) -> Iterator[Damage]:
    match member, value:
        case "cdiVersion", str():
            yield _set(spec, "not released", path, "9.9.9")
            yield _set(spec, "older than what is used", path, "0.2.0")
        case "kind", str():
            yield _set(spec, "without class", path, "k8s.gpu.nvidia.com")
            yield _set(spec, "with a space", path, "k8s.gpu nvidia.com/claim")
        case "name", str():
            yield _set(spec, "with a slash", path, f"a/{value}")
        case "devices", list():
            yield _set(spec, "empty", path, [])
            twice = _set(spec, "twice", path, [value[0], *value])
            yield Damage(twice.what, "devices[1].name", twice.spec)
        case "containerEdits", dict() if len(path) > 1:
            yield _set(spec, "empty", path, {})
        case "env", str():
            yield _set(spec, "without a value", path, "NAME")
            yield _set(spec, "without a name", path, "=value")
        case "type", str():
            yield _set(spec, "unknown", path, "x")
        case "hookName", str():
            yield _set(spec, "unknown", path, "later")
        case "options", list():
            yield _set(spec, "without bind", path, ["ro"])


def changed_in_one_field(spec: Any, choose: Choose) -> Iterator[Any]:
    """Yield the spec with any value in any place, as far as chosen; some are still valid."""
    changes = [(path, value) for path, _ in _places(spec) if path for value in ANYTHING]
    for path, value in choose(changes):
        yield _set(spec, "", path, value).spec


def _places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))


def _set(spec: Any, what: str, path: Place, value: Any) -> Damage:
    def put(at: Any, key: Any) -> None:
        at[key] = value

    return _with(spec, what, path, put)


def _with(spec: Any, what: str, path: Place, change: Callable[[Any, Any], object]) -> Damage:
    damaged = copy.deepcopy(spec)
    at = damaged
    for part in path[:-1]:
        at = at[part]
    change(at, path[-1])
    return Damage(f"{_spelled(path)} {what}", _spelled(path), damaged)


def _spelled(path: Place) -> str:
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")
