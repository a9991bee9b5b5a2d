import pytest

from nodeagent.cdi.version import minimal_version
from nodeagent.fields import Json, JsonObject


def a_spec(edits: JsonObject, **members: Json) -> JsonObject:
    device: JsonObject = {"name": "a-gpu-0", "containerEdits": edits}
    return {"kind": "k8s.gpu.example/claim", "devices": [device], **members}


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        (a_spec({"env": ["A=b"]}), "0.3.0"),
        (a_spec({"deviceNodes": [{"path": "/dev/nvidia0"}]}), "0.3.0"),
        (a_spec({"mounts": [{"hostPath": "/a", "containerPath": "/a"}]}), "0.3.0"),
        (a_spec({"mounts": [{"hostPath": "/a", "containerPath": "/a", "type": "bind"}]}), "0.4.0"),
        (a_spec({"deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/null"}]}), "0.5.0"),
        (a_spec({"env": ["A=b"]}, annotations={"a": "b"}), "0.6.0"),
        (a_spec({"env": ["A=b"]}, kind="k8s.gpu.example/a.claim"), "0.6.0"),
        (a_spec({"env": ["A=b"], "additionalGids": [44]}), "0.7.0"),
        (a_spec({"env": ["A=b"], "intelRdt": {"closID": "a"}}), "0.7.0"),
        (a_spec({"env": ["A=b"], "intelRdt": {"schemata": ["L3:0=f"]}}), "1.1.0"),
        (a_spec({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]}), "1.1.0"),
    ],
)
def test_the_version_is_the_smallest_that_has_what_is_used(spec: JsonObject, version: str) -> None:
    assert minimal_version(spec) == version


def test_a_device_name_that_begins_with_a_digit_needs_its_own_version() -> None:
    """Ten of sixteen claim UIDs do."""
    device: JsonObject = {"name": "7a-gpu-0", "containerEdits": {"env": ["A=b"]}}

    assert minimal_version({"kind": "a.b/claim", "devices": [device]}) == "0.5.0"


def test_edits_of_the_whole_file_count_too() -> None:
    common: JsonObject = {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]}

    assert minimal_version(a_spec({"env": ["A=b"]}, containerEdits=common)) == "0.5.0"


def test_dots_of_the_vendor_do_not_count() -> None:
    assert minimal_version(a_spec({"env": ["A=b"]}, kind="k8s.a.b.c/claim")) == "0.3.0"
