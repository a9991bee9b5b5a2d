"""API objects as the YAML that people read and apply."""

import yaml

from dra_console.allocator.model import JsonObject


def as_yaml(obj: JsonObject) -> str:
    """Write an object in `kubectl get -o yaml`'s order of keys, without `managedFields`."""
    metadata = obj.get("metadata")
    shown = dict(obj)
    if isinstance(metadata, dict):
        shown["metadata"] = {
            key: value for key, value in metadata.items() if key != "managedFields"
        }
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, default_flow_style=False)
    return str(text)
