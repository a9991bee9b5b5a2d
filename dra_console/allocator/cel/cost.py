"""How much an expression can cost at worst, before it is evaluated.

The API server refuses new selectors whose estimate is above a million. The estimate is
cel-go's, with Kubernetes' costs of its own functions and the API's limits as sizes.
"""

from dataclasses import dataclass
from typing import Final

from dra_console.allocator.cel.call_costs import estimate_call
from dra_console.allocator.cel.estimates import (
    LIST_COST,
    MAP_COST,
    MESSAGE_COST,
    UNBOUNDED,
    EntrySize,
    Path,
    Size,
    added,
    times,
)
from dra_console.allocator.cel.known_sizes import KnownSizes
from dra_console.allocator.cel.operands import CallEstimate, Operand
from dra_console.allocator.cel.tree import (
    Call,
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

SELECTABLE: Final = frozenset({Kind.MAP, Kind.MESSAGE, Kind.PARAMETER})
NOTHING: Final = Size(UNBOUNDED, 0)
"""Covers no size yet."""


def estimated_cost(tree: CheckedTree) -> int:
    """Estimate the greatest cost; `estimates.UNBOUNDED` if there is no bound."""
    return _Estimator(tree, KnownSizes(tree)).cost(tree.root)


@dataclass(slots=True)
class _Estimator:
    tree: CheckedTree
    known: KnownSizes

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
        local = self.known.local(node)
        parts = tuple(node.name.removeprefix(".").split("."))
        if local is not None:
            self.known.paths[node.number] = local.path
            return 1
        is_of_device = parts[0] == "device"
        path = Path.of(parts[0] if is_of_device else node.name)
        for part in parts[1:] if is_of_device else ():
            path = path.then(part)
        self.known.paths[node.number] = path
        return len(parts) if is_of_device else 1

    def _select(self, node: Select) -> int:
        cost = self.cost(node.operand)
        if node.is_presence_test:
            return cost
        self.known.paths[node.number] = self.known.path(node.operand).then(node.field)
        return added(cost, self.tree.type_of(node.operand).kind in SELECTABLE)

    def _call(self, node: Call) -> int:
        if node.function == "dyn":
            cost = self.cost(node.arguments[0])
            self.known.copy(node, node.arguments[0])
            return added(cost, 1)
        costs = [self.cost(argument) for argument in node.arguments]
        arguments = [self.known.operand(argument) for argument in node.arguments]
        overloads = self.tree.overloads.get(node.number, ())
        if not overloads:
            return 0
        target, target_cost = None, 0
        if node.target is not None:
            target_cost = self.cost(node.target)
            target = self.known.operand(node.target)
        greatest, result = 0, None
        for overload in overloads:
            estimate = self._overload(node, overload, target, arguments, costs)
            greatest = max(greatest, estimate.cost)
            if estimate.result is not None:
                result = estimate.result if result is None else result.union(estimate.result)
            if overload in {"index_list", "index_map"}:
                entry = self.known.entry(node.arguments[0])
                result = None if entry is None else entry.value
                step = "@items" if overload == "index_list" else "@values"
                self.known.paths[node.number] = self.known.path(node.arguments[0]).then(step)
            if result is None:
                result = self.known.size(node)
        if result is not None:
            self.known.sizes[node.number] = result
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
                self.known.cover_entries(node, *node.arguments[1:])
                size = arguments[1].size.union(arguments[2].size)
                return CallEstimate(added(costs[0], max(costs[1:])), size)
            case "add_list" | "add_string" | "add_bytes":
                self.known.cover_entries(node, *node.arguments)
        estimate = estimate_call(node.function, overload, target, arguments)
        return CallEstimate(added(estimate.cost, *costs), estimate.result)

    def _list(self, node: ListOf) -> int:
        cost, size = LIST_COST, Size(0, 0) if not node.elements else NOTHING
        for element in node.elements:
            cost = added(cost, self.cost(element))
            size = size.union(self.known.size_or_unknown(element))
        self.known.entries[node.number] = EntrySize(is_list=True, key=Size.fixed(1), value=size)
        return cost

    def _map(self, node: MapOf) -> int:
        cost = MESSAGE_COST if node.message else MAP_COST
        key_size = value_size = Size(0, 0) if not node.entries else NOTHING
        for entry in node.entries:
            if not isinstance(entry.key, str):
                cost = added(cost, self.cost(entry.key))
                key_size = key_size.union(self.known.size_or_unknown(entry.key))
            cost = added(cost, self.cost(entry.value))
            value_size = value_size.union(self.known.size_or_unknown(entry.value))
        if not node.message:
            self.known.entries[node.number] = EntrySize(
                is_list=False, key=key_size, value=value_size
            )
        return cost

    def _bind(self, node: Fold) -> int:
        cost = added(self.cost(node.range), self.cost(node.start))
        self.known.push(node.accumulator, self.known.bound(node.start))
        cost = added(cost, self.cost(node.result))
        self.known.pop(node.accumulator)
        self.known.copy(node, node.result)
        return cost

    def _loop(self, node: Fold) -> int:
        cost = added(self.cost(node.range), self.cost(node.start))
        self.known.push(node.accumulator, self.known.bound(node.start))
        if node.second_variable:
            self.known.push(node.variable, self.known.walked(node.range, wants_key=True))
            self.known.push(node.second_variable, self.known.walked(node.range, wants_key=False))
        else:
            self.known.push(node.variable, self.known.walked(node.range, wants_key=None))
        each = added(self.cost(node.condition), self.cost(node.step))
        self.known.pop(node.variable)
        if node.second_variable:
            self.known.pop(node.second_variable)
        cost = added(cost, self.cost(node.result))
        self.known.pop(node.accumulator)
        count = self.known.size_or_unknown(node.range)
        match node.start:
            case Literal():
                size = self.known.size(node.start)
                if size is not None:
                    self.known.sizes[node.number] = size
            case ListOf() | MapOf():
                self.known.sizes[node.number] = count
                self.known.set_entry(node, self.known.entry(node.step))
        return added(cost, times(count.greatest, each))


def _is_bind(node: Fold) -> bool:
    return (
        isinstance(node.range, ListOf)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
    )
