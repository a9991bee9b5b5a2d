"""By which rules an allocation is made: feature gates, and upstream's accidents.

Feature gates carry the names of Kubernetes. The default is what is on by default in the newest
release, 1.37. A quirk is behaviour of upstream's allocator that looks accidental; kube-scheduler
shares the cluster with us and answers so, hence the default is to answer alike.

Some accidents of releases before 1.37 are gone and therefore no quirk here: counters that two
drivers with equal pool names shared, counters that stayed charged after a taint or constraint
had refused the device, shares whose undoing kept their counters, distinct values remembered
once per request, intersections of lists that undoing did not widen, mode All that left out
devices whose capacity is used up, and taint rules without a selector that tainted everything.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, Self


class Feature(StrEnum):
    """A feature gate that changes what the allocator does, or what the API server stores."""

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
    NODE_ALLOCATABLE_RESOURCES = "DRANodeAllocatableResources"
    PARTITIONABLE_DEVICES_TYPE = "DRAPartitionableDevicesType"


DEFAULT_FEATURES: Final = frozenset(
    {
        Feature.ADMIN_ACCESS,
        Feature.PRIORITIZED_LIST,
        Feature.PARTITIONABLE_DEVICES,
        Feature.DEVICE_TAINTS,
        Feature.BINDING_CONDITIONS,
        Feature.CONSUMABLE_CAPACITY,
    }
)
"""`FRACTIONAL_CAPACITY_RANGE` is not among them: 1.37 has it on only where the components are
started with `--min-compatibility-version=1.37`, and without that flag they go by 1.36."""
ALPHA_FEATURES: Final = frozenset(
    {
        Feature.LIST_TYPE_ATTRIBUTES,
        Feature.DERIVED_ATTRIBUTES,
        Feature.COMPATIBILITY_GROUPS,
        Feature.OPTIONAL_NODE_OPERATIONS,
    }
)
"""Any of these makes kube-scheduler run its experimental allocator."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """Accidents of upstream's allocator; true does as upstream does, false what is documented."""

    obsolete_generation_stays: bool = True
    """Old slices stay in use on a node that sees all of them, though newer ones exist elsewhere.

    The newer generation is looked for only when slices are missing here. The API wants only
    slices of the highest generation of a pool to be used.
    """

    all_mode_minds_every_pool: bool = True
    """Mode All is refused while any pool on the node is incomplete or invalid.

    What a driver does whose devices the request can never mean is no reason to refuse, so
    without the quirk only pools matter that publish a device which matches.
    """

    admin_access_blocks: bool = True
    """A device that a claim of the same pod watches with admin access is not given to another.

    Admin access is documented to leave a device free for everybody else, and does once the
    claim is stored.
    """

    admin_access_draws_counters: bool = True
    """Admin access needs counters that are left, although its device may hold them already.

    Whoever watches a device takes nothing of it: stored admin access draws no counters.
    """

    overdrawn_counter_blocks_pool: bool = True
    """A counter below zero keeps every device of its pool back that draws on any counter.

    More is allocated than the pool publishes now; devices that draw on other counters have
    no part in that.
    """

    match_hides_distinct: bool = True
    """Of a constraint with both attributes only `matchAttribute` counts.

    The API documents both together as invalid yet stores it; holding both is the cautious
    reading.
    """

    operations_are_skipped_unseen: bool = True
    """With all alpha gates off, devices that want node operations skipped are given all the same.

    The kubelet would not skip them. Upstream looks at the field only where another alpha gate
    makes it run the experimental allocator; the API wants such devices refused without the gate.
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

    @property
    def is_experimental(self) -> bool:
        """Tell whether upstream would allocate with its experimental variant."""
        return not self.features.isdisjoint(ALPHA_FEATURES)


DEFAULT_RULES: Final = Rules()
