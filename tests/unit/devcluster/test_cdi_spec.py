"""Checks of CDI files (`node-agent.md` 3.1 to 3.3)."""

import pytest

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.cdi_spec import read_spec

UID = "77777777-0000-4000-8000-000000000620"


def a_cdi_device(name: str = "a-gpu-0", **edits: Json) -> JsonObject:
    return {"name": name, "containerEdits": {**(edits or {"env": ["GPU=0"]})}}


def a_spec(*devices: JsonObject, **members: Json) -> JsonObject:
    return {
        "cdiVersion": "0.5.0",
        "kind": "k8s.gpu.nvidia.com/claim",
        "devices": [*(devices or (a_cdi_device(),))],
        **members,
    }


def test_devices_have_qualified_names() -> None:
    devices = read_spec(a_spec(a_cdi_device(f"{UID}-gpu-0"), a_cdi_device(f"{UID}-gpu-1")))

    assert [device.qualified_name for device in devices] == [
        f"k8s.gpu.nvidia.com/claim={UID}-gpu-0",
        f"k8s.gpu.nvidia.com/claim={UID}-gpu-1",
    ]


def test_a_device_node_without_numbers_is_looked_up_on_the_host() -> None:
    (device,) = read_spec(
        a_spec(
            a_cdi_device(
                deviceNodes=[
                    {"path": "/dev/nvidia0", "hostPath": "/driver/dev/nvidia0"},
                    {"path": "/dev/nvidia-cap1", "type": "c", "major": 238, "minor": 1},
                ]
            ),
            containerEdits={"deviceNodes": [{"path": "/dev/nvidiactl"}]},
        )
    )

    assert device.host_nodes == ("/dev/nvidiactl", "/driver/dev/nvidia0")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param(a_spec(kind="gpu"), "kind", id="kind without a vendor"),
        pytest.param(a_spec(kind="9gpu/claim"), "kind", id="vendor that begins with a digit"),
        pytest.param(a_spec(cdiVersion="2.0.0"), "cdiVersion", id="unknown version"),
        pytest.param(a_spec(devices=[]), "devices", id="no device"),
        pytest.param(a_spec(a_cdi_device(), a_cdi_device()), "devices", id="a name twice"),
        pytest.param(a_spec(colour="red"), "colour", id="unknown member"),
        pytest.param(a_spec(a_cdi_device("-x")), "devices[0].name", id="bad device name"),
        pytest.param(
            a_spec({"name": "a", "containerEdits": {}}),
            "devices[0].containerEdits",
            id="device without edits",
        ),
        pytest.param(
            a_spec(a_cdi_device(env=["=x"])),
            "devices[0].containerEdits.env[0]",
            id="variable without a name",
        ),
        pytest.param(
            a_spec(a_cdi_device(mounts=[{"hostPath": "/a"}])),
            "devices[0].containerEdits.mounts[0].containerPath",
            id="mount without a target",
        ),
        pytest.param(
            a_spec(a_cdi_device(hooks=[{"hookName": "later", "path": "/bin/true"}])),
            "devices[0].containerEdits.hooks[0].hookName",
            id="unknown hook",
        ),
        pytest.param(
            a_spec(a_cdi_device(deviceNodes=[{"path": "/dev/a", "permissions": "rx"}])),
            "devices[0].containerEdits.deviceNodes[0].permissions",
            id="unknown permission",
        ),
        pytest.param(
            a_spec(a_cdi_device(f"{UID}-gpu-0"), cdiVersion="0.3.0"),
            "cdiVersion",
            id="device name that begins with a digit before 0.5.0",
        ),
        pytest.param(
            a_spec(annotations={"plan": "x"}), "cdiVersion", id="annotations before 0.6.0"
        ),
    ],
)
def test_an_invalid_file_is_refused_with_the_member(spec: JsonObject, path: str) -> None:
    with pytest.raises(DecodeError) as refusal:
        read_spec(spec)

    assert refusal.value.path == path
