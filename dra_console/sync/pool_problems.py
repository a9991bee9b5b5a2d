"""Why no device of a pool can be allocated. Pure; the rules are dra-semantics.md 3.2 and 3.4."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.sync.reading import label_of
from dra_console.sync.slice_facts import SliceFacts, slice_facts


def pool_problem(newest: Sequence[JsonObject]) -> str:
    """Name the first problem of a pool's newest slices; empty if there is none."""
    try:
        facts = [slice_facts(published) for published in newest]
    except DecodeError as error:
        return f"a slice cannot be read: {error}"
    return first_problem(facts)


def first_problem(newest: Sequence[SliceFacts]) -> str:
    """Name it for slices that could be read."""
    return next(_problems(newest), "")


def _problems(slices: Sequence[SliceFacts]) -> Iterator[str]:
    counts = sorted({each.slice_count for each in slices})
    if len(counts) > 1:
        yield f"its slices disagree on resourceSliceCount: {', '.join(map(str, counts))}"
    elif len(slices) != counts[0]:
        generation = slices[0].generation
        yield f"{len(slices)} of {counts[0]} slices of generation {generation} seen"
    device_names = [name for each in slices for name in each.device_names]
    if nameless := sorted(name for name in device_names if not label_of(name)):
        yield f"a device has a name that Kubernetes does not allow: {nameless[0]!r}"
    if twice := _twice(device_names):
        yield f"device name occurs more than once: {twice}"
    if twice := _twice([counters.name for each in slices for counters in each.declared]):
        yield f"counter set occurs more than once: {twice}"
    yield from _dangling_draws(slices)


def _twice(names: Sequence[str]) -> str:
    if len({*names}) == len(names):
        return ""
    return ", ".join(sorted(name for name, count in Counter(names).items() if count > 1))


def _dangling_draws(slices: Sequence[SliceFacts]) -> Iterator[str]:
    declared = {counters.name: counters for each in slices for counters in each.declared}
    for device, draw in (draw for each in slices for draw in each.draws):
        if draw.name not in declared:
            yield f"device {device}: counter set {draw.name} is not in the pool"
        elif missing := sorted(set(draw.counters) - set(declared[draw.name].counters)):
            yield f"device {device}: counter {draw.name}/{missing[0]} is not in the pool"
