"""How the node is chosen among those that fit: what users write, and what is read of it."""

from enum import StrEnum

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.names import PLACEMENT_ANNOTATION
from dra_console.scheduling.planning.plans import Refused


class Placement(StrEnum):
    """Values of the annotation `dra-console.io/placement`."""

    PACK = "pack"
    """The node of whose devices most are held, so that other nodes stay whole."""

    SPREAD = "spread"
    """The node of whose devices fewest are held."""

    FEWEST_FRAGMENTS = "fewest-fragments"
    """The node where least is left over of split devices that no partition can use any more."""


def placement_of(metadata: JsonObject) -> Placement | Refused:
    """Read the annotation of a pod or claim; `pack` without it."""
    value = object_of(metadata.get("annotations")).get(PLACEMENT_ANNOTATION)
    if value is None:
        return Placement.PACK
    try:
        return Placement(str(value))
    except ValueError:
        known = ", ".join(Placement)
        return Refused(
            f"expected one of {known} as placement, got {value!r}",
            f"metadata.annotations[{PLACEMENT_ANNOTATION}]",
        )
