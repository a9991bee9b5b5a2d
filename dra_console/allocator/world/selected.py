"""Which devices of a fleet an expression selects: the question of a CEL tester.

Asked of tens of thousands of devices while somebody types, so devices that agree on what
the expression reads are asked about once, and slices that hold such devices in the same
order share one answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dra_console.allocator.cel.selectors import EvaluationFault, Program
from dra_console.allocator.facts import facts_of
from dra_console.allocator.inventory import ResourceSlice
from dra_console.allocator.world.index import Index


@dataclass(frozen=True, slots=True)
class Selected:
    """What an expression says of the devices of one slice.

    `answers` are in the order of the slice's devices. A fault means that the expression
    cannot be evaluated on the device, which is fatal for any claim that comes across it.
    """

    slice: ResourceSlice
    answers: tuple[bool | EvaluationFault, ...]


def selected(program: Program, *, index: Index) -> Iterator[Selected]:
    """Evaluate an expression on every device, slice by slice, whatever its pool's state."""
    view = index.views.covering(program.reads)
    of_kinds: dict[tuple[int, ...], tuple[bool | EvaluationFault, ...]] = {}
    of_kind: dict[int, bool | EvaluationFault] = {}
    for slice_ in index.inventory.slices():
        kinds = view.kinds_of(index.inventory.published(slice_))
        answers = of_kinds.get(kinds)
        if answers is None:
            for kind, device in zip(kinds, slice_.devices, strict=True):
                if kind not in of_kind:
                    of_kind[kind] = program.evaluate(facts_of(device, driver=slice_.driver))
            answers = of_kinds[kinds] = tuple(of_kind[kind] for kind in kinds)
        yield Selected(slice_, answers)
