"""API objects as the YAML that people read and apply."""

from dra_console.allocator.model import JsonObject
from dra_console.provisioning.yaml_text import dump_yaml


def as_yaml(obj: JsonObject) -> str:
    """Write an object in its own order of keys, without `managedFields`."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return dump_yaml(obj)
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return dump_yaml({**obj, "metadata": kept})
