"""The second distribution's own description."""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3] / "nodeagent"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = {
    "google": "protobuf",
    "grpc": "grpcio",
    "kubernetes": "kubernetes",
    "msgspec": "msgspec",
    "prometheus_client": "prometheus-client",
    "pynvml": "nvidia-ml-py",
    "structlog": "structlog",
    "websockets": "websockets",
}
"""Distribution names by the module that they bring."""

PART_OF_ANOTHER = {"urllib3": "kubernetes"}
DEVELOPERS_ONLY = {"grpc_tools"}


def test_every_package_is_listed() -> None:
    found = {
        ".".join(("nodeagent", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.rglob("__init__.py")
        if "build" not in path.parts
    }

    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    imported = {
        name.partition(".")[0]
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    others = imported - set(sys.stdlib_module_names) - {"nodeagent"} - DEVELOPERS_ONLY
    declared = {text.partition(">")[0] for text in PROJECT["project"]["dependencies"]}

    assert {MODULES.get(name) or PART_OF_ANOTHER[name] for name in others} == declared
