"""Shapes that occur in every kind of object, and those of core types inside ours.

Source: `meta/v1` ObjectMeta and Condition, `core/v1` NodeSelector.
"""

from typing import Final

from dra_console.allocator.validation.shapes import Leaf, ListOf, MapOf, ObjectOf, Shape

TEXTS: Final = ListOf(Leaf.TEXT)
TEXT_MAP: Final = MapOf(Leaf.TEXT)
QUANTITY_MAP: Final = MapOf(Leaf.QUANTITY)

OWNER: Final = ObjectOf(
    {
        "apiVersion": Leaf.TEXT,
        "kind": Leaf.TEXT,
        "name": Leaf.TEXT,
        "uid": Leaf.TEXT,
        "controller": Leaf.BOOLEAN,
        "blockOwnerDeletion": Leaf.BOOLEAN,
    }
)
MANAGED_FIELDS: Final = ObjectOf(
    {
        "manager": Leaf.TEXT,
        "operation": Leaf.TEXT,
        "apiVersion": Leaf.TEXT,
        "time": Leaf.TIME,
        "fieldsType": Leaf.TEXT,
        "fieldsV1": Leaf.ANYTHING,
        "subresource": Leaf.TEXT,
    }
)
METADATA: Final = ObjectOf(
    {
        "name": Leaf.TEXT,
        "generateName": Leaf.TEXT,
        "namespace": Leaf.TEXT,
        "selfLink": Leaf.TEXT,
        "uid": Leaf.TEXT,
        "resourceVersion": Leaf.TEXT,
        "generation": Leaf.INTEGER,
        "creationTimestamp": Leaf.TIME,
        "deletionTimestamp": Leaf.TIME,
        "deletionGracePeriodSeconds": Leaf.INTEGER,
        "labels": TEXT_MAP,
        "annotations": TEXT_MAP,
        "ownerReferences": ListOf(OWNER),
        "finalizers": TEXTS,
        "managedFields": ListOf(MANAGED_FIELDS),
    }
)
CONDITION: Final = ObjectOf(
    {
        "type": Leaf.TEXT,
        "status": Leaf.TEXT,
        "observedGeneration": Leaf.INTEGER,
        "lastTransitionTime": Leaf.TIME,
        "reason": Leaf.TEXT,
        "message": Leaf.TEXT,
    }
)
REQUIREMENT: Final = ObjectOf({"key": Leaf.TEXT, "operator": Leaf.TEXT, "values": TEXTS})
NODE_SELECTOR: Final = ObjectOf(
    {
        "nodeSelectorTerms": ListOf(
            ObjectOf({"matchExpressions": ListOf(REQUIREMENT), "matchFields": ListOf(REQUIREMENT)})
        )
    }
)


def object_shape(**parts: Shape) -> ObjectOf:
    """Describe a whole object by its parts beside type and metadata."""
    return ObjectOf({"apiVersion": Leaf.TEXT, "kind": Leaf.TEXT, "metadata": METADATA, **parts})
