"""The kubeconfig file that tells clients where the embedded cluster is."""

import os
from pathlib import Path
from typing import Final

import yaml

NAME: Final = "dra-console-devcluster"


def write_kubeconfig(path: Path, *, url: str) -> None:
    """Write the file, complete or not at all. It holds no credentials: loopback needs none."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url}}],
        "users": [{"name": "admin", "user": {}}],
        "contexts": [
            {"name": NAME, "context": {"cluster": NAME, "user": "admin", "namespace": "default"}}
        ],
        "current-context": NAME,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(yaml.safe_dump(config, sort_keys=False))
    fresh.replace(path)
