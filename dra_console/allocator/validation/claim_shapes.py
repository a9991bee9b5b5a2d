"""Shapes of ResourceClaim, ResourceClaimTemplate, DeviceClass and DeviceTaintRule.

Source: the types of `resource.k8s.io` in 1.37, in v1 and, where `is_flat` says so, in v1beta1.
"""

from typing import Final

from dra_console.allocator.validation.metadata_shapes import (
    CONDITION,
    METADATA,
    NODE_SELECTOR,
    QUANTITY_MAP,
    TEXTS,
    object_shape,
)
from dra_console.allocator.validation.shapes import Leaf, ListOf, ObjectOf, Shape

SELECTORS: Final = ListOf(ObjectOf({"cel": ObjectOf({"expression": Leaf.TEXT})}))
OPAQUE: Final = ObjectOf({"driver": Leaf.TEXT, "parameters": Leaf.ANYTHING})
TAINT: Final = ObjectOf(
    {"key": Leaf.TEXT, "value": Leaf.TEXT, "effect": Leaf.TEXT, "timeAdded": Leaf.TIME}
)
TOLERATIONS: Final = ListOf(
    ObjectOf(
        {
            "key": Leaf.TEXT,
            "operator": Leaf.TEXT,
            "value": Leaf.TEXT,
            "effect": Leaf.TEXT,
            "tolerationSeconds": Leaf.INTEGER,
        }
    )
)
SUBREQUEST: Final[dict[str, Shape]] = {
    "deviceClassName": Leaf.TEXT,
    "selectors": SELECTORS,
    "allocationMode": Leaf.TEXT,
    "count": Leaf.INTEGER,
    "tolerations": TOLERATIONS,
    "capacity": ObjectOf({"requests": QUANTITY_MAP}),
    "derivedAttributes": ListOf(ObjectOf({"name": Leaf.TEXT, "expression": Leaf.TEXT})),
}
EXACTLY: Final[dict[str, Shape]] = {**SUBREQUEST, "adminAccess": Leaf.BOOLEAN}
FIRST_AVAILABLE: Final = ListOf(ObjectOf({"name": Leaf.TEXT, **SUBREQUEST}))
REQUEST: Final = ObjectOf(
    {"name": Leaf.TEXT, "exactly": ObjectOf(EXACTLY), "firstAvailable": FIRST_AVAILABLE}
)
FLAT_REQUEST: Final = ObjectOf({"name": Leaf.TEXT, **EXACTLY, "firstAvailable": FIRST_AVAILABLE})
CONSTRAINTS: Final = ListOf(
    ObjectOf({"requests": TEXTS, "matchAttribute": Leaf.TEXT, "distinctAttribute": Leaf.TEXT})
)
CLASS_CONFIG: Final = ListOf(ObjectOf({"opaque": OPAQUE}))
CONFIG: Final = ListOf(ObjectOf({"requests": TEXTS, "opaque": OPAQUE}))

DEVICE_KEY: Final[dict[str, Shape]] = {
    "driver": Leaf.TEXT,
    "pool": Leaf.TEXT,
    "device": Leaf.TEXT,
    "shareID": Leaf.TEXT,
}
RESULT: Final = ObjectOf(
    {
        **DEVICE_KEY,
        "request": Leaf.TEXT,
        "adminAccess": Leaf.BOOLEAN,
        "tolerations": TOLERATIONS,
        "bindingConditions": TEXTS,
        "bindingFailureConditions": TEXTS,
        "consumedCapacity": QUANTITY_MAP,
        "skipNodeOperations": TEXTS,
    }
)
ALLOCATED_CONFIG: Final = ObjectOf({"source": Leaf.TEXT, "requests": TEXTS, "opaque": OPAQUE})
ALLOCATION: Final = ObjectOf(
    {
        "devices": ObjectOf({"results": ListOf(RESULT), "config": ListOf(ALLOCATED_CONFIG)}),
        "nodeSelector": NODE_SELECTOR,
        "allocationTimestamp": Leaf.TIME,
    }
)
DEVICE_STATUS: Final = ObjectOf(
    {
        **DEVICE_KEY,
        "conditions": ListOf(CONDITION),
        "data": Leaf.ANYTHING,
        "networkData": ObjectOf(
            {"interfaceName": Leaf.TEXT, "ips": TEXTS, "hardwareAddress": Leaf.TEXT}
        ),
    }
)
CONSUMER: Final = ObjectOf(
    {"apiGroup": Leaf.TEXT, "resource": Leaf.TEXT, "name": Leaf.TEXT, "uid": Leaf.TEXT}
)
CLAIM_STATUS: Final = ObjectOf(
    {
        "allocation": ALLOCATION,
        "reservedFor": ListOf(CONSUMER),
        "devices": ListOf(DEVICE_STATUS),
    }
)
CLASS: Final = object_shape(
    spec=ObjectOf(
        {
            "selectors": SELECTORS,
            "config": CLASS_CONFIG,
            "extendedResourceName": Leaf.TEXT,
        }
    )
)
TAINT_RULE: Final = object_shape(
    spec=ObjectOf(
        {
            "deviceSelector": ObjectOf(
                {"driver": Leaf.TEXT, "pool": Leaf.TEXT, "device": Leaf.TEXT}
            ),
            "taint": TAINT,
        }
    ),
    status=ObjectOf({"conditions": ListOf(CONDITION)}),
)


def claim_spec_shape(*, is_flat: bool) -> ObjectOf:
    """Describe a claim's spec; `is_flat` for versions before v1beta2."""
    return ObjectOf(
        {
            "devices": ObjectOf(
                {
                    "requests": ListOf(FLAT_REQUEST if is_flat else REQUEST),
                    "constraints": CONSTRAINTS,
                    "config": CONFIG,
                }
            )
        }
    )


def claim_shape(*, is_flat: bool) -> ObjectOf:
    """Describe a ResourceClaim; `is_flat` for versions before v1beta2."""
    return object_shape(spec=claim_spec_shape(is_flat=is_flat), status=CLAIM_STATUS)


def template_spec_shape(*, is_flat: bool) -> ObjectOf:
    """Describe a template's spec; `is_flat` for versions before v1beta2."""
    return ObjectOf({"metadata": METADATA, "spec": claim_spec_shape(is_flat=is_flat)})


def template_shape(*, is_flat: bool) -> ObjectOf:
    """Describe a ResourceClaimTemplate; `is_flat` for versions before v1beta2."""
    return object_shape(spec=template_spec_shape(is_flat=is_flat))
