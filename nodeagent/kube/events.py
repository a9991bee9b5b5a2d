"""Events that the agent records on its Node, for `kubectl describe node`."""

from datetime import UTC, datetime
from pathlib import Path

from nodeagent.fields import JsonObject


def checkpoint_corrupted(node_name: str, *, file: Path) -> JsonObject:
    """Say that the record of prepared claims could not be read, and where it is kept now."""
    return _warning(
        node_name,
        reason="CheckpointCorrupted",
        message=(
            "The node agent could not trust its checkpoint and rebuilt it from the one before"
            f" and from the CDI files; the old file is {file}"
        ),
    )


def feature_dropped(node_name: str, *, feature: str, consequence: str) -> JsonObject:
    """Say that the API server drops fields of a feature, and what the agent does about it."""
    return _warning(
        node_name,
        reason="FeatureDropped",
        message=f"The API server drops fields of ResourceSlices: {feature} is off. {consequence}",
    )


def kubelet_deadlocks(node_name: str, *, version: str) -> JsonObject:
    """Say that this node's kubelet will stop calling its plugins, and what helps."""
    return _warning(
        node_name,
        reason="KubeletDeadlocksWhenIdle",
        message=(
            f"Kubelet {version} calls no DRA plugin any more once it had nothing to ask for half"
            " an hour: pods hang in ContainerCreating. Upgrade it to 1.34.2 or later"
        ),
    )


def beside_device_plugin(node_name: str, *, found: str) -> JsonObject:
    """Say that nothing is published, because two pods would get one GPU."""
    return _warning(
        node_name,
        reason="DevicePluginConflict",
        message=(
            f"A device plugin offers this node's GPUs as well ({found}), so the node agent"
            " publishes none of them. Take the plugin from this node"
        ),
    )


def _warning(node_name: str, *, reason: str, message: str) -> JsonObject:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{node_name}-", "namespace": "default"},
        # Events about nodes carry the node's name as its UID, as kubelet's own do.
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_name},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "dra-nodeagent", "host": node_name},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
