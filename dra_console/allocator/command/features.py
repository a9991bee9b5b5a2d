"""Feature gates by name, as scenario lines and the command line give them.

Some gates of Kubernetes concern other components (the kubelet, the API server). Their names
are accepted and change nothing; a name that nobody knows is a typing error and refused.
"""

from collections.abc import Iterable
from typing import Final

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.rules import DEFAULT_FEATURES, Feature

OTHER_GATES: Final = frozenset(
    {
        "DynamicResourceAllocation",
        "DRADeviceTaintRules",
        "DRAExtendedResource",
        "DRAResourceClaimDeviceStatus",
        "DRAResourcePoolStatus",
        "DRASchedulerFilterTimeout",
        "DRASharedConsumableCapacity",
        "DRAWorkloadResourceClaims",
        "ResourceHealthStatus",
    }
)
"""Gates of Kubernetes 1.37 around DRA that change nothing about an allocation."""


def features_named(names: Iterable[str], *, path: str) -> frozenset[Feature]:
    """Read the names of all gates that are on; `path` is where they stand.

    Raises:
        DecodeError: there is no such gate.

    """
    return frozenset(
        feature for name in names if (feature := _feature(name.strip(), path)) is not None
    )


def features_written(text: str, *, path: str) -> frozenset[Feature]:
    """Read `A,B` as all gates that are on, and `A=true,B=false` as changes to the default.

    Raises:
        DecodeError: there is no such gate, or the two ways of writing are mixed.

    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    changes = [entry for entry in entries if "=" in entry]
    if not changes:
        return features_named(entries, path=path)
    if len(changes) < len(entries):
        raise DecodeError(path, "expected either names alone or NAME=true and NAME=false for all")
    features = set(DEFAULT_FEATURES)
    for entry in changes:
        name, _, value = entry.partition("=")
        feature = _feature(name.strip(), path)
        if value.strip().lower() not in {"true", "false"}:
            raise DecodeError(path, f"expected {name}=true or {name}=false, got {entry}")
        if feature is not None:
            (features.add if value.strip().lower() == "true" else features.discard)(feature)
    return frozenset(features)


def _feature(name: str, path: str) -> Feature | None:
    if name in OTHER_GATES:
        return None
    try:
        return Feature(name)
    except ValueError:
        known = ", ".join(sorted(Feature))
        raise DecodeError(path, f"there is no feature gate {name!r}; those are: {known}") from None
