"""Which devices a class selects, told by the allocator's own evaluator."""

from collections.abc import Iterable, Sequence

from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.decoding.decode import decode_class, decode_slice
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.facts import facts_of
from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, DeviceClass, ResourceSlice
from dra_console.telemetry.readings import DeviceKey


def device_keys_of_class(cluster: Cluster, class_name: str) -> frozenset[DeviceKey]:
    """Name the devices that a class selects; none for a class that does not exist.

    An expression that does not compile, or fails on a device, selects nothing there, as it
    allocates nothing there. Takes two queries.
    """
    row = DeviceClass.objects.filter(cluster=cluster, name=class_name).first()
    if row is None:
        return frozenset()
    try:
        programs = _programs(decode_class(row.raw).selectors)
    except DecodeError:
        # Nothing is allocated from it either.
        return frozenset()
    if programs is None:
        return frozenset()
    raw_slices = ResourceSlice.objects.filter(cluster=cluster).values_list("raw", flat=True)
    return frozenset(_matching(raw_slices, programs=programs))


def _programs(expressions: Sequence[str | None]) -> tuple[Program, ...] | None:
    programs = []
    for expression in expressions:
        program = None if expression is None else default_engine().compile(expression)
        if not isinstance(program, Program):
            return None
        programs.append(program)
    return tuple(programs)


def _matching(
    raw_slices: Iterable[JsonObject], *, programs: Sequence[Program]
) -> Iterable[DeviceKey]:
    for raw in raw_slices:
        try:
            published = decode_slice(raw)
        except DecodeError:
            # Its devices cannot be allocated by any class; the pool's page says why.
            continue
        for device in published.devices:
            facts = facts_of(device, driver=published.driver)
            if all(program.evaluate(facts) is True for program in programs):
                yield DeviceKey(published.driver, published.pool, device.name)
