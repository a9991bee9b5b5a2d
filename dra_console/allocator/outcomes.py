"""The four ways an allocation ends. None of them is an exception.

`steps` is the effort: devices considered, over all branches of the search.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.inventory import DeviceId, PoolId
from dra_console.allocator.model import AllocationResult


@dataclass(frozen=True, slots=True)
class Allocated:
    """All claims fit: one result for each, in their order."""

    results: tuple[AllocationResult, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """No solution on this node. Other nodes may have one, and so may this one later.

    `invalid_pools` names pools of the node whose slices contradict each other; their
    devices were left out.
    """

    steps: int
    invalid_pools: tuple[tuple[PoolId, str], ...] = ()

    is_pruned: bool = field(default=False, compare=False)
    """Whether failures made the search look ahead, so that branches were left untried."""

    def __str__(self) -> str:
        if not self.invalid_pools:
            return "cannot allocate all claims"
        pools = ", ".join(f"{pool_id} ({problem})" for pool_id, problem in self.invalid_pools)
        return f"cannot allocate all claims; invalid resource pools were encountered: {pools}"


@dataclass(frozen=True, slots=True)
class BrokenInput:
    """The claim, a class or a device is wrong in a way that no other node would change.

    The message names claim and request. `field` is the path inside the claim if one is to
    blame, `device` the device on which a selector or constraint failed.
    """

    message: str
    field: str = ""
    device: DeviceId | None = None
    steps: int = 0

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """The search was ended before it had an answer; nothing is known about a fit."""

    steps: int

    def __str__(self) -> str:
        return f"search ended without an answer after {self.steps} steps"


Outcome: TypeAlias = Allocated | DoesNotFit | BrokenInput | BudgetExhausted


class BrokenInputError(AllocatorError):
    """Carries a `BrokenInput` from the depth of the search to its entry."""

    def __init__(self, broken: BrokenInput) -> None:
        super().__init__(broken.message)
        self.broken = broken

    def after(self, steps: int) -> BrokenInput:
        """Return what is broken, with the effort it took to find out."""
        return replace(self.broken, steps=steps)
