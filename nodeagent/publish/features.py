"""Parts of a ResourceSlice that an API server may drop, and what becomes of devices then.

A server whose feature gate is off takes a slice and silently stores less (KEP-4815, 5055, 5075).
What it would store is asked for in advance by dry run, and looked for in the answer to each
write (node-agent.md 4.7). Without a feature the builder does what is safe, not what is most:

- no taints: devices that should be kept from claims are not published;
- no counters: partitions that could overlap are not published;
- no shares: a device goes to one claim at a time;
- no lists: of a list, only its first value is published.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Final, Self

from nodeagent.fields import Fields, JsonObject

LISTS_OF_AN_ATTRIBUTE: Final = ("ints", "bools", "strings", "versions")


class Feature(Enum):
    """What a server may lack; the value is what its administrator has to change."""

    TAINTS = "DRADeviceTaints"
    INFORMING_TAINTS = "taints with effect None (DRADeviceTaints of Kubernetes 1.36)"
    COUNTERS = "DRAPartitionableDevices"
    SHARES = "DRAConsumableCapacity"
    LISTS = "DRAListTypeAttributes"


class Layout(StrEnum):
    """Where counter sets stand."""

    SPLIT = "split"
    """In slices of their own: Kubernetes 1.35 and later."""

    MIXED = "mixed"
    """In the slice of the devices that draw on them, as Kubernetes 1.33 and 1.34 want it."""

    @property
    def other(self) -> "Layout":
        """The one that a server wants which refuses this one."""
        return Layout.MIXED if self is Layout.SPLIT else Layout.SPLIT


@dataclass(frozen=True, slots=True)
class Shape:
    """How much of what the node has a slice may say."""

    features: frozenset[Feature] = frozenset(Feature)
    layout: Layout = Layout.SPLIT
    with_optional_attributes: bool = True

    def __contains__(self, feature: Feature) -> bool:
        return feature in self.features

    def without(self, *features: Feature) -> Self:
        """Return the same shape with fewer features."""
        return replace(self, features=self.features.difference(features))


def features_of(spec: JsonObject) -> frozenset[Feature]:
    """Return the features that a slice's spec makes use of."""
    return frozenset(feature for feature, count in _uses(spec).items() if count)


def lost_features(sent: JsonObject, kept: JsonObject) -> frozenset[Feature]:
    """Compare the spec of a slice with what a server made of it.

    Raises:
        FieldError: the server's is not one.

    """
    kept_uses = _uses(kept)
    return frozenset(
        feature for feature, count in _uses(sent).items() if kept_uses[feature] < count
    )


def _uses(spec: JsonObject) -> dict[Feature, int]:
    slice_spec = Fields(spec, "spec")
    counts = dict.fromkeys(Feature, 0)
    counts[Feature.COUNTERS] += len(slice_spec.objects("sharedCounters"))
    for device in slice_spec.objects("devices"):
        counts[Feature.COUNTERS] += len(device.objects("consumesCounters"))
        counts[Feature.SHARES] += device.flag("allowMultipleAllocations")
        for taint in device.objects("taints"):
            is_informing = taint.optional_text("effect") == "None"
            counts[Feature.INFORMING_TAINTS if is_informing else Feature.TAINTS] += 1
        counts[Feature.SHARES] += sum(
            "requestPolicy" in amount.value for amount in _members(device, "capacity")
        )
        counts[Feature.LISTS] += sum(
            any(attribute.value.get(name) for name in LISTS_OF_AN_ATTRIBUTE)
            for attribute in _members(device, "attributes")
        )
    return counts


def _members(device: Fields, name: str) -> Iterable[Fields]:
    members = device.optional_object(name)
    return () if members is None else [members.object(member) for member in members.value]
