"""How much an expression can cost at worst, before it is evaluated.

The API server refuses new selectors whose estimate is above a million. The estimate is
cel-go's, with Kubernetes' costs of its own functions and the API's limits as sizes.
"""

from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.cel.call_costs import estimate_call
from dra_console.allocator.cel.estimates import (
    LIST_COST,
    MAP_COST,
    MESSAGE_COST,
    NOWHERE,
    UNBOUNDED,
    UNKNOWN,
    EntrySize,
    Path,
    Size,
    added,
    hinted,
    times,
)
from dra_console.allocator.cel.operands import CallEstimate, Operand
from dra_console.allocator.cel.tree import (
    Call,
    CelType,
    CheckedTree,
    Fold,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
)

SCALARS: Final = frozenset(
    {Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT}
)
SELECTABLE: Final = frozenset({Kind.MAP, Kind.MESSAGE, Kind.PARAMETER})
ACCUMULATOR: Final = "@result"
NOTHING: Final = Size(UNBOUNDED, 0)
"""Covers no size yet."""


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of a macro."""

    path: Path
    size: Size | None
    entry: EntrySize | None = None


def estimated_cost(tree: CheckedTree) -> int:
    """Estimate the greatest cost; `estimates.UNBOUNDED` if there is no bound."""
    return _Estimator(tree).cost(tree.root)


@dataclass(slots=True)
class _Estimator:
    tree: CheckedTree
    paths: dict[int, Path] = field(default_factory=dict)
    sizes: dict[int, Size] = field(default_factory=dict)
    entries: dict[int, EntrySize] = field(default_factory=dict)
    locals: dict[str, list[Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> int:  # noqa: PLR0911  one kind of node each
        match node:
            case Literal():
                return 0
            case Name():
                return self._name(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Fold():
                return self._bind(node) if _is_bind(node) else self._loop(node)

    def _name(self, node: Name) -> int:
        local = self._local(node)
        parts = tuple(node.name.removeprefix(".").split("."))
        if local is not None:
            self.paths[node.number] = local.path
            return 1
        is_of_device = parts[0] == "device"
        path = Path.of(parts[0] if is_of_device else node.name)
        for part in parts[1:] if is_of_device else ():
            path = path.then(part)
        self.paths[node.number] = path
        return len(parts) if is_of_device else 1

    def _select(self, node: Select) -> int:
        cost = self.cost(node.operand)
        if node.is_presence_test:
            return cost
        self.paths[node.number] = self._path(node.operand).then(node.field)
        return added(cost, self.tree.type_of(node.operand).kind in SELECTABLE)

    def _call(self, node: Call) -> int:
        if node.function == "dyn":
            cost = self.cost(node.arguments[0])
            self._copy(node, node.arguments[0])
            return added(cost, 1)
        costs = [self.cost(argument) for argument in node.arguments]
        arguments = [self._operand(argument) for argument in node.arguments]
        overloads = self.tree.overloads.get(node.number, ())
        if not overloads:
            return 0
        target, target_cost = None, 0
        if node.target is not None:
            target_cost = self.cost(node.target)
            target = self._operand(node.target)
        greatest, result = 0, None
        for overload in overloads:
            estimate = self._overload(node, overload, target, arguments, costs)
            greatest = max(greatest, estimate.cost)
            if estimate.result is not None:
                result = estimate.result if result is None else result.union(estimate.result)
            if overload in {"index_list", "index_map"}:
                entry = self._entry(node.arguments[0])
                result = None if entry is None else entry.value
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node.number] = self._path(node.arguments[0]).then(step)
            if result is None:
                result = self._size(node)
        if result is not None:
            self.sizes[node.number] = result
        return added(target_cost, greatest)

    def _overload(
        self,
        node: Call,
        overload: str,
        target: Operand | None,
        arguments: list[Operand],
        costs: list[int],
    ) -> CallEstimate:
        match overload:
            case "logical_or" | "logical_and":
                return CallEstimate(added(*costs))
            case "conditional":
                yes, no = node.arguments[1:]
                entry = self._entry(yes)
                self._set_entry(node, None if entry is None else entry.union(self._entry(no)))
                size = arguments[1].size.union(arguments[2].size)
                return CallEstimate(added(costs[0], max(costs[1:])), size)
            case "add_list" | "add_string" | "add_bytes":
                left, right = node.arguments
                entry = self._entry(left)
                self._set_entry(node, None if entry is None else entry.union(self._entry(right)))
        estimate = estimate_call(node.function, overload, target, arguments)
        return CallEstimate(added(estimate.cost, *costs), estimate.result)

    def _list(self, node: ListOf) -> int:
        cost, size = LIST_COST, Size(0, 0) if not node.elements else NOTHING
        for element in node.elements:
            cost = added(cost, self.cost(element))
            size = size.union(self._size_or_unknown(element))
        self.entries[node.number] = EntrySize(is_list=True, key=Size.fixed(1), value=size)
        return cost

    def _map(self, node: MapOf) -> int:
        cost = MESSAGE_COST if node.message else MAP_COST
        key_size = value_size = Size(0, 0) if not node.entries else NOTHING
        for entry in node.entries:
            if not isinstance(entry.key, str):
                cost = added(cost, self.cost(entry.key))
                key_size = key_size.union(self._size_or_unknown(entry.key))
            cost = added(cost, self.cost(entry.value))
            value_size = value_size.union(self._size_or_unknown(entry.value))
        if not node.message:
            self.entries[node.number] = EntrySize(is_list=False, key=key_size, value=value_size)
        return cost

    def _bind(self, node: Fold) -> int:
        cost = added(self.cost(node.range), self.cost(node.start))
        self._push(node.accumulator, self._bound(node.start))
        cost = added(cost, self.cost(node.result))
        self.locals[node.accumulator].pop()
        self._copy(node, node.result)
        return cost

    def _loop(self, node: Fold) -> int:
        cost = added(self.cost(node.range), self.cost(node.start))
        self._push(node.accumulator, self._bound(node.start))
        if node.second_variable:
            self._push(node.variable, self._of_range(node.range, wants_key=True))
            self._push(node.second_variable, self._of_range(node.range, wants_key=False))
        else:
            self._push(node.variable, self._of_range(node.range, wants_key=None))
        each = added(self.cost(node.condition), self.cost(node.step))
        self.locals[node.variable].pop()
        if node.second_variable:
            self.locals[node.second_variable].pop()
        cost = added(cost, self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        match node.start:
            case Literal():
                size = self._size(node.start)
                if size is not None:
                    self.sizes[node.number] = size
            case ListOf() | MapOf():
                self.sizes[node.number] = count
                self._set_entry(node, self._entry(node.step))
        return added(cost, times(count.greatest, each))

    def _of_range(self, node: Node, *, wants_key: bool | None) -> Local:
        """Describe the variable that walks along: keys, values, or what one variable takes."""
        entry = self._entry(node)
        is_list = entry.is_list if entry else self.tree.type_of(node).kind is Kind.LIST
        if wants_key is None:
            wants_key = not is_list
        keys, values = ("@indices", "@items") if is_list else ("@keys", "@values")
        size = None
        if entry is not None:
            size = entry.key if wants_key else entry.value
        return Local(self._path(node).then(keys if wants_key else values), size)

    def _bound(self, node: Node) -> Local:
        return Local(self._path(node), self._size(node), self._entry(node))

    def _push(self, name: str, local: Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _local(self, node: Node) -> Local | None:
        held = self.locals.get(node.name) if isinstance(node, Name) else None
        return held[-1] if held else None

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path.steps[:1] == (ACCUMULATOR,):
            path = NOWHERE
        return Operand(node, path, self.tree.type_of(node), self._size(node))

    def _path(self, node: Node) -> Path:
        local = self._local(node)
        return local.path if local is not None else self.paths.get(node.number, NOWHERE)

    def _copy(self, node: Node, source: Node) -> None:
        size = self._size(source)
        if size is not None:
            self.sizes[node.number] = size
        self._set_entry(node, self._entry(source))

    def _set_entry(self, node: Node, entry: EntrySize | None) -> None:
        if entry is not None:
            self.entries[node.number] = entry

    def _entry(self, node: Node) -> EntrySize | None:
        known = self.entries.get(node.number)
        local = self._local(node)
        return local.entry if known is None and local is not None else known

    def _size_or_unknown(self, node: Node) -> Size:
        return self._size(node) or UNKNOWN

    def _size(self, node: Node) -> Size | None:
        known = self.sizes.get(node.number) or _written_size(node)
        if known is not None:
            return known
        hint = hinted(self._path(node))
        if hint is not None:
            self.sizes[node.number] = hint
            return hint
        if _is_scalar(self.tree.type_of(node)):
            return Size.fixed(1)
        local = self._local(node)
        return None if local is None else local.size


def _is_bind(node: Fold) -> bool:
    return (
        isinstance(node.range, ListOf)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
    )


def _is_scalar(kind: CelType) -> bool:
    if kind.kind is Kind.OPAQUE and kind.name == "optional_type":
        return _is_scalar(kind.parameters[0])
    return kind.kind in SCALARS


def _written_size(node: Node) -> Size | None:
    match node:
        case Literal(value=str() | bytes() as text):
            return Size.fixed(len(text))
        case Literal():
            return Size.fixed(1)
        case ListOf():
            return Size.fixed(len(node.elements))
        case MapOf() if not node.message:
            return Size.fixed(len(node.entries))
    return None
