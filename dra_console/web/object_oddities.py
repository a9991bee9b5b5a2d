"""Everything that is odd about one object: as noted when it was met, and as seen now."""

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Device, ObjectProblem
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync.reading import object_in, objects_in, text_in
from dra_console.web.presenters.object_problems import problem_lines
from dra_console.web.presenters.oddities import oddities_of


def oddities_of_row(row: MirroredObject, *, plural: str) -> tuple[str, ...]:
    """List what is odd about a mirrored object, each once; one query."""
    noted = ObjectProblem.objects.filter(
        cluster=row.cluster_id, plural=plural, namespace=row.namespace, name=row.name
    )
    told = [
        f"{line.path}: {line.message}" if line.path else line.message
        for line in problem_lines(noted)
    ]
    return tuple(dict.fromkeys((*told, *oddities_of(plural, row.raw))))


def oddities_of_device(device: Device, *, plural: str) -> tuple[str, ...]:
    """List what is odd about a device's entry in its slice, and about the slice around it.

    Its siblings are left out: each has a page, and there may be 127 of them.
    """
    raw: JsonObject = device.slice.raw
    entries = objects_in(raw, "spec", "devices")
    index = next(
        (at for at, entry in enumerate(entries) if text_in(entry, "name") == device.name), 0
    )
    itself: list[Json] = [*entries[index : index + 1]]
    alone: JsonObject = {**raw, "spec": {**object_in(raw, "spec"), "devices": itself}}
    return tuple(
        oddity.replace("spec.devices[0]", f"spec.devices[{index}]")
        for oddity in oddities_of(plural, alone)
    )
