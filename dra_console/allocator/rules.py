"""By which rules an allocation is made: feature gates, and upstream's accidents.

Feature gates carry the names of Kubernetes. The default is what is on by default in the newest
release, 1.37. A quirk is behaviour of upstream's allocator that looks accidental; kube-scheduler
shares the cluster with us and answers so, hence the default is to answer alike.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, Self


class Feature(StrEnum):
    """A feature gate that changes what the allocator does."""

    ADMIN_ACCESS = "DRAAdminAccess"
    PRIORITIZED_LIST = "DRAPrioritizedList"
    PARTITIONABLE_DEVICES = "DRAPartitionableDevices"
    DEVICE_TAINTS = "DRADeviceTaints"
    BINDING_CONDITIONS = "DRADeviceBindingConditions"
    CONSUMABLE_CAPACITY = "DRAConsumableCapacity"
    FRACTIONAL_CAPACITY_RANGE = "DRAFractionalCapacityRange"
    LIST_TYPE_ATTRIBUTES = "DRAListTypeAttributes"
    DERIVED_ATTRIBUTES = "DRADerivedAttributes"
    COMPATIBILITY_GROUPS = "DRADeviceCompatibilityGroups"
    OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


DEFAULT_FEATURES: Final = frozenset(
    {
        Feature.ADMIN_ACCESS,
        Feature.PRIORITIZED_LIST,
        Feature.PARTITIONABLE_DEVICES,
        Feature.DEVICE_TAINTS,
        Feature.BINDING_CONDITIONS,
        Feature.CONSUMABLE_CAPACITY,
        Feature.FRACTIONAL_CAPACITY_RANGE,
    }
)


@dataclass(frozen=True, slots=True)
class Quirks:
    """Accidents of upstream's allocator; true does as upstream does, false what is documented."""

    obsolete_generation_stays: bool = True
    """Old slices stay in use on a node that sees all of them, though newer ones exist elsewhere.

    The newer generation is looked for only when slices are missing here.
    """

    @classmethod
    def none(cls) -> Self:
        """Do what the API documents, everywhere."""
        return cls(**{field.name: False for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Rules:
    """What every function that allocates or explains goes by."""

    features: frozenset[Feature] = DEFAULT_FEATURES
    quirks: Quirks = Quirks()

    def has(self, feature: Feature) -> bool:
        """Tell whether a feature gate is on."""
        return feature in self.features


DEFAULT_RULES: Final = Rules()
