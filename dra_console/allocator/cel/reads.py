"""Which attributes and capacities an expression can look at.

Devices that agree on them share one answer, so this never misses one. Whatever is not plainly
`domain, name` counts for the whole domain, and whatever is not plainly a domain counts for the
whole device.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from dra_console.allocator.cel.tree import Call, Fold, ListOf, Literal, Name, Node, Select, children

DEVICE: Final = "device"
GROUPS: Final = frozenset({"attributes", "capacity"})
SCALARS: Final = frozenset({"driver", "allowMultipleAllocations"})
ACCESSES: Final = frozenset({"_[_]", "_[?_]", "_?._"})


class Read(NamedTuple):
    """An attribute or capacity that an expression names; without `name`, the whole domain."""

    group: str
    domain: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Reads:
    """What of a device an expression depends on, beside driver and allowMultipleAllocations."""

    names: frozenset[Read] = frozenset()
    is_whole_device: bool = False


class _WholeDeviceError(Exception):
    """The device is used as such."""


class _Domain(NamedTuple):
    group: str
    domain: str


Scope = Mapping[str, _Domain | None]
"""Local names: a domain bound by `cel.bind`, or anything else."""


def reads_of(root: Node) -> Reads:
    """List what a tree can look at."""
    try:
        return Reads(frozenset(_reads(root, {})))
    except _WholeDeviceError:
        return Reads(is_whole_device=True)


def _reads(node: Node, scope: Scope) -> Iterator[Read]:  # noqa: C901  one shape each
    container, key = _access(node)
    if container is not None:
        domain = _domain(container, scope)
        if domain is not None:
            yield Read(domain.group, domain.domain, key)
            if key is None:
                yield from _reads_of_key(node, scope)
            return
    domain = _domain(node, scope)
    if domain is not None:
        yield Read(domain.group, domain.domain, None)
    elif _is_device(node, scope) or _group(node, scope) is not None:
        raise _WholeDeviceError
    elif isinstance(node, Select) and _is_device(node.operand, scope):
        if node.field not in SCALARS | GROUPS:
            raise _WholeDeviceError
        if node.field in GROUPS and not node.is_presence_test:
            raise _WholeDeviceError
    elif isinstance(node, Fold):
        yield from _reads_of_fold(node, scope)
    else:
        for child in children(node):
            yield from _reads(child, scope)


def _reads_of_key(node: Node, scope: Scope) -> Iterator[Read]:
    if isinstance(node, Call):
        yield from _reads(node.arguments[1], scope)


def _reads_of_fold(node: Fold, scope: Scope) -> Iterator[Read]:
    bound = _domain(node.start, scope)
    is_bind = isinstance(node.range, ListOf) and not node.range.elements
    yield from _reads(node.range, scope)
    if not (is_bind and bound):
        bound = None
        yield from _reads(node.start, scope)
    within = {
        **scope,
        node.variable: None,
        node.second_variable: None,
        node.accumulator: bound,
    }
    for part in (node.condition, node.step, node.result):
        if not (is_bind and part is node.step):
            yield from _reads(part, within)


def _access(node: Node) -> tuple[Node | None, str | None]:
    """Split `container.key` or `container[key]`; no key if it is known at run time only."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function in ACCESSES:
        key = node.arguments[1]
        is_text = isinstance(key, Literal) and isinstance(key.value, str)
        return node.arguments[0], str(key.value) if isinstance(key, Literal) and is_text else None
    return None, None


def _is_device(node: Node, scope: Scope) -> bool:
    if not isinstance(node, Name):
        return False
    return node.name == f".{DEVICE}" or (node.name == DEVICE and DEVICE not in scope)


def _group(node: Node, scope: Scope) -> str | None:
    if isinstance(node, Name):
        variable, _, group = node.name.removeprefix(".").partition(".")
        return group if variable == DEVICE and group in GROUPS else None
    if isinstance(node, Select) and not node.is_presence_test and node.field in GROUPS:
        return node.field if _is_device(node.operand, scope) else None
    return None


def _domain(node: Node, scope: Scope) -> _Domain | None:
    if isinstance(node, Name):
        return scope.get(node.name)
    container, key = _access(node)
    if container is None or key is None or (isinstance(node, Select) and node.is_presence_test):
        return None
    group = _group(container, scope)
    return None if group is None else _Domain(group, key)
