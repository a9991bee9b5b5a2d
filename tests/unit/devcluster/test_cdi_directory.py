import json
from pathlib import Path

import pytest
import yaml

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.cdi_directory import CdiDirectory, UnresolvableCdiDevicesError

NAME = "k8s.gpu.nvidia.com/claim=a-gpu-0"


def a_file(**edits: Json) -> JsonObject:
    return {
        "cdiVersion": "0.5.0",
        "kind": "k8s.gpu.nvidia.com/claim",
        "devices": [{"name": "a-gpu-0", "containerEdits": {**(edits or {"env": ["GPU=0"]})}}],
    }


@pytest.fixture
def directory(tmp_path: Path) -> CdiDirectory:
    return CdiDirectory(tmp_path)


def test_a_device_of_a_json_file_is_found(directory: CdiDirectory) -> None:
    (directory.path / "a.json").write_text(json.dumps(a_file()))

    directory.resolve([NAME])


def test_a_device_of_a_yaml_file_is_found(directory: CdiDirectory) -> None:
    (directory.path / "a.yaml").write_text(yaml.safe_dump(a_file()))

    directory.resolve([NAME])


def test_files_with_other_endings_are_not_looked_at(directory: CdiDirectory) -> None:
    (directory.path / "a.json.tmp").write_text(json.dumps(a_file()))

    with pytest.raises(UnresolvableCdiDevicesError, match=f"unresolvable CDI devices {NAME}$"):
        directory.resolve([NAME])


def test_a_directory_that_is_not_there_has_no_devices(tmp_path: Path) -> None:
    with pytest.raises(UnresolvableCdiDevicesError):
        CdiDirectory(tmp_path / "cdi").resolve([NAME])


def test_a_broken_file_is_named_with_its_fault(directory: CdiDirectory) -> None:
    (directory.path / "a.json").write_text(json.dumps(a_file() | {"kind": "gpu"}))

    with pytest.raises(UnresolvableCdiDevicesError, match=r"a\.json: kind: expected vendor/class"):
        directory.resolve([NAME])


def test_half_a_file_is_a_broken_file(directory: CdiDirectory) -> None:
    (directory.path / "a.json").write_text(json.dumps(a_file())[:40])

    with pytest.raises(UnresolvableCdiDevicesError, match=r"a\.json"):
        directory.resolve([NAME])


def test_a_broken_file_of_another_claim_is_no_hindrance(directory: CdiDirectory) -> None:
    (directory.path / "a.json").write_text(json.dumps(a_file()))
    (directory.path / "b.json").write_text("{")

    directory.resolve([NAME])


def test_a_name_in_two_files_is_unresolvable(directory: CdiDirectory) -> None:
    (directory.path / "a.json").write_text(json.dumps(a_file()))
    (directory.path / "b.json").write_text(json.dumps(a_file()))

    with pytest.raises(UnresolvableCdiDevicesError, match="is in 2 files"):
        directory.resolve([NAME])


def test_a_device_node_has_to_be_on_the_host(directory: CdiDirectory) -> None:
    node = directory.path / "nvidia0"
    content = a_file(deviceNodes=[{"path": "/dev/nvidia0", "hostPath": str(node)}])
    (directory.path / "a.json").write_text(json.dumps(content))

    with pytest.raises(UnresolvableCdiDevicesError, match=str(node)):
        directory.resolve([NAME])

    node.touch()
    directory.resolve([NAME])


def test_no_names_need_no_directory(tmp_path: Path) -> None:
    CdiDirectory(tmp_path / "cdi").resolve([])
