"""Shapes of ResourceSlices.

Source: the types of `resource.k8s.io` in 1.37, in v1 and, where `is_flat` says so, in v1beta1.
"""

from typing import Final

from dra_console.allocator.validation.claim_shapes import TAINT
from dra_console.allocator.validation.metadata_shapes import NODE_SELECTOR, TEXTS, object_shape
from dra_console.allocator.validation.shapes import Leaf, ListOf, MapOf, ObjectOf, Shape

ATTRIBUTE: Final = ObjectOf(
    {
        "int": Leaf.INTEGER,
        "bool": Leaf.BOOLEAN,
        "string": Leaf.TEXT,
        "version": Leaf.TEXT,
        "ints": ListOf(Leaf.INTEGER),
        "bools": ListOf(Leaf.BOOLEAN),
        "strings": TEXTS,
        "versions": TEXTS,
    }
)
CAPACITY: Final = ObjectOf(
    {
        "value": Leaf.QUANTITY,
        "requestPolicy": ObjectOf(
            {
                "default": Leaf.QUANTITY,
                "validValues": ListOf(Leaf.QUANTITY),
                "validRange": ObjectOf(
                    {"min": Leaf.QUANTITY, "max": Leaf.QUANTITY, "step": Leaf.QUANTITY}
                ),
            }
        ),
    }
)
COUNTERS: Final = MapOf(ObjectOf({"value": Leaf.QUANTITY}))
NODE_ALLOCATABLE: Final = ObjectOf(
    {
        "mapping": ObjectOf(
            {
                "capacityKey": Leaf.TEXT,
                "capacityMultiplier": Leaf.QUANTITY,
                "deviceMultiplier": Leaf.QUANTITY,
            }
        ),
        "overhead": ObjectOf({"perPod": Leaf.QUANTITY, "perContainer": Leaf.QUANTITY}),
    }
)
REACH: Final[dict[str, Shape]] = {
    "nodeName": Leaf.TEXT,
    "nodeSelector": NODE_SELECTOR,
    "allNodes": Leaf.BOOLEAN,
}
DEVICE: Final[dict[str, Shape]] = {
    **REACH,
    "attributes": MapOf(ATTRIBUTE),
    "capacity": MapOf(CAPACITY),
    "consumesCounters": ListOf(
        ObjectOf({"counterSet": Leaf.TEXT, "counters": COUNTERS, "compatibilityGroups": TEXTS})
    ),
    "taints": ListOf(TAINT),
    "bindsToNode": Leaf.BOOLEAN,
    "bindingConditions": TEXTS,
    "bindingFailureConditions": TEXTS,
    "allowMultipleAllocations": Leaf.BOOLEAN,
    "nodeAllocatableResources": MapOf(NODE_ALLOCATABLE),
}


def slice_shape(*, is_flat: bool) -> ObjectOf:
    """Describe a ResourceSlice; `is_flat` for versions before v1beta2."""
    device: dict[str, Shape] = {"name": Leaf.TEXT}
    device |= {"basic": ObjectOf(DEVICE)} if is_flat else DEVICE
    return object_shape(
        spec=ObjectOf(
            {
                **REACH,
                "driver": Leaf.TEXT,
                "pool": ObjectOf(
                    {
                        "name": Leaf.TEXT,
                        "generation": Leaf.INTEGER,
                        "resourceSliceCount": Leaf.INTEGER,
                    }
                ),
                "perDeviceNodeSelection": Leaf.BOOLEAN,
                "devices": ListOf(ObjectOf(device)),
                "sharedCounters": ListOf(ObjectOf({"name": Leaf.TEXT, "counters": COUNTERS})),
                "partitionTypeAttribute": Leaf.TEXT,
                "skipNodeOperations": TEXTS,
            }
        )
    )
