"""Files about a claim's devices: where they are, how they change, and when they go (KEP-5304)."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cdi.metadata import Description, container_path
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.cdi.validate import problems
from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.garbage import sweep
from nodeagent.devices.model import Device, Source
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod, an_inventory, reference_to
from tests.builders.cdi_resolver import resolve
from tests.builders.objects import DRIVER, NODE

UID = "77777777-0000-4000-8000-000000000005"

GPU = Description(
    claim_namespace="lab",
    claim_name="shared",
    claim_uid=UID,
    pod_claim_name=None,
    request="gpu/half",
    devices=({"driver": DRIVER, "pool": NODE, "name": "gpu-0", "attributes": {}},),
)


@pytest.fixture
def files(tmp_path: Path) -> MetadataFiles:
    return MetadataFiles(tmp_path / "plugin", tmp_path / "cdi", DRIVER)


def host_file(files: MetadataFiles) -> Path:
    return files.plugin_directory / "dra-device-metadata/lab_shared/gpu/metadata.json"


def cdi_file(files: MetadataFiles) -> Path:
    return files.cdi_directory / f"{DRIVER}_metadata_{UID}_gpu.json"


def documents(path: Path) -> list[Any]:
    """Read a stream of JSON objects."""
    found, text = [], path.read_text()
    while text.strip():
        document, end = json.JSONDecoder().raw_decode(text.lstrip())
        found.append(document)
        text = text.lstrip()[end:]
    return found


def test_a_file_says_the_same_in_each_version_the_newest_first(files: MetadataFiles) -> None:
    files.write(GPU)

    newest, oldest = documents(host_file(files))
    assert newest == {
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "kind": "DeviceMetadata",
        "metadata": {"name": "shared", "namespace": "lab", "uid": UID, "generation": 1},
        "requests": [{"name": "gpu/half", "devices": [*GPU.devices]}],
    }
    assert oldest == {**newest, "apiVersion": "metadata.resource.k8s.io/v1alpha1"}


def test_a_valid_cdi_file_binds_it_where_workloads_look(files: MetadataFiles) -> None:
    files.write(GPU)

    assert problems(json.loads(cdi_file(files).read_text())) == ()
    ids = files.ids(UID, ["gpu", "other"])
    assert ids == {"gpu": f"{DRIVER}/metadata={UID}_gpu"}
    container = resolve([files.cdi_directory], ids.values())
    place = "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/shared/gpu"
    assert container.mounts == {
        f"{place}/{DRIVER}-metadata.json": {
            "hostPath": str(host_file(files)),
            "containerPath": f"{place}/{DRIVER}-metadata.json",
            "options": ["ro", "bind"],
        }
    }


def test_a_claim_from_a_template_is_found_by_the_pods_own_name() -> None:
    of_template = replace(GPU, pod_claim_name="mine")

    assert container_path(of_template, driver=DRIVER) == (
        "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/mine/gpu/"
        f"{DRIVER}-metadata.json"
    )


def test_a_change_reaches_containers_that_hold_the_file(files: MetadataFiles) -> None:
    files.write(GPU)
    inode = host_file(files).stat().st_ino
    with host_file(files).open() as held:
        files.write(replace(GPU, devices=()))
        assert json.JSONDecoder().raw_decode(held.read())[0]["metadata"]["generation"] == 2

    files.write(replace(GPU, devices=()))

    assert host_file(files).stat().st_ino == inode
    assert [one["metadata"]["generation"] for one in documents(host_file(files))] == [2, 2]


def test_a_new_claim_of_an_old_name_begins_a_file_of_its_own(files: MetadataFiles) -> None:
    files.write(GPU)
    inode = host_file(files).stat().st_ino

    files.write(replace(GPU, claim_uid="other"))
    files.remove(UID)

    assert host_file(files).stat().st_ino != inode
    assert documents(host_file(files))[0]["metadata"] == {
        "name": "shared", "namespace": "lab", "uid": "other", "generation": 1,
    }  # fmt: skip
    assert not cdi_file(files).exists()


def test_cdi_files_come_back_after_a_reboot_emptied_their_directory(files: MetadataFiles) -> None:
    files.write(GPU)
    content = cdi_file(files).read_bytes()
    shutil.rmtree(files.cdi_directory)

    assert files.repair() == (UID,)
    assert files.repair() == ()
    assert cdi_file(files).read_bytes() == content


def test_nothing_is_left_of_a_removed_claim(files: MetadataFiles) -> None:
    files.write(GPU)
    files.write(replace(GPU, request="second"))
    assert files.claim_uids() == {UID}

    files.remove(UID)
    files.remove(UID)

    assert files.claim_uids() == frozenset()
    assert list(files.cdi_directory.iterdir()) == []
    assert list((files.plugin_directory / "dra-device-metadata").iterdir()) == []


def a_result(device: str, request: str) -> JsonObject:
    return {"request": request, "driver": DRIVER, "pool": NODE, "device": device}


def told_attributes(device: Device, source: Source) -> JsonObject:
    return {"minor": {"int": device.gpu.minor}, "source": {"string": source.value}}


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    inventory = an_inventory("gpu-0", "gpu-1", "gpu-2")
    return AgentNode(tmp_path, inventory=inventory, attributes=told_attributes)


def ids_of(node: AgentNode, claim: JsonObject) -> list[list[str]]:
    devices = node.prepare(claim)
    assert isinstance(devices, tuple)
    assert all(isinstance(device, PlannedDevice) for device in devices)
    return node.preparer.cdi_ids(reference_to(claim).uid, devices)


def test_a_devices_own_id_comes_first_and_each_requests_file_with_its_first_device(
    node: AgentNode,
) -> None:
    claim = a_claim_of_pod(
        a_result("gpu-0", "big"), a_result("gpu-1", "big"), a_result("gpu-2", "small/half")
    )
    node.claims.put(claim)
    uid = reference_to(claim).uid

    own = [f"k8s.{DRIVER}/claim={uid}-gpu-{number}" for number in range(3)]
    assert ids_of(node, claim) == [
        [own[0], f"{DRIVER}/metadata={uid}_big"],
        [own[1]],
        [own[2], f"{DRIVER}/metadata={uid}_small"],
    ]
    container = resolve([node.directory / "cdi"], [f"{DRIVER}/metadata={uid}_small"])
    (mount,) = container.mounts.values()
    (request,) = documents(Path(mount["hostPath"]))[0]["requests"]
    assert request["name"] == "small/half"
    assert request["devices"] == [
        {
            "driver": DRIVER,
            "pool": NODE,
            "name": "gpu-2",
            "attributes": {
                "minor": {"int": 2},
                "source": {"string": "simulated"},
                "uuid": {"string": "GPU-2"},
            },
        }
    ]

    assert node.unprepare(claim) is None
    assert list((node.directory / "cdi").iterdir()) == []


def test_a_description_that_cannot_be_written_does_not_keep_a_claim_waiting(
    node: AgentNode,
) -> None:
    (node.directory / "plugin/dra-device-metadata").write_text("in the way")
    claim = a_claim_of_pod(a_result("gpu-0", "big"))
    node.claims.put(claim)

    assert ids_of(node, claim) == [[f"k8s.{DRIVER}/claim={reference_to(claim).uid}-gpu-0"]]


def test_containers_are_told_nothing_unless_the_administrator_wants_it(tmp_path: Path) -> None:
    node = AgentNode(tmp_path)
    claim = a_claim_of_pod(a_result("gpu-0", "big"))
    node.claims.put(claim)

    assert ids_of(node, claim) == [[f"k8s.{DRIVER}/claim={reference_to(claim).uid}-gpu-0"]]
    assert not (tmp_path / "plugin/dra-device-metadata").exists()


def test_a_description_without_a_claim_in_the_checkpoint_is_swept(node: AgentNode) -> None:
    claim = a_claim_of_pod(a_result("gpu-0", "big"))
    node.claims.put(claim)
    ids_of(node, claim)
    uid = reference_to(claim).uid
    (node.directory / "plugin/checkpoint.json").unlink()
    node.cdi_file(claim).unlink()
    node.claims.remove(claim)
    node.restart()

    sweep(node.preparer, abandonment=node.abandonment, now=datetime.now(UTC))

    assert node.execution.describing.files.claim_uids() == frozenset()
    assert not list((node.directory / "cdi").glob(f"*{uid}*"))
