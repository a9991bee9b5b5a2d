import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.cdi.validate import problems

GOOD: dict[str, Any] = {
    "cdiVersion": "1.1.0",
    "kind": "k8s.gpu.example/claim",
    "annotations": {"plan": "x"},
    "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"]},
    "devices": [
        {
            "name": "7a-gpu-0",
            "containerEdits": {
                "env": ["A=b=c", "EMPTY="],
                "deviceNodes": [
                    {
                        "path": "/dev/nvidia0",
                        "hostPath": "/dev/null",
                        "type": "c",
                        "major": 195,
                        "minor": 0,
                        "fileMode": 438,
                        "permissions": "rw",
                    }
                ],
                "mounts": [
                    {"hostPath": "/a", "containerPath": "/b", "options": ["ro"], "type": "bind"}
                ],
                "hooks": [
                    {
                        "hookName": "createContainer",
                        "path": "/usr/bin/hook",
                        "args": ["hook", "update-ldcache"],
                        "env": ["DEBUG=false"],
                        "timeout": 5,
                    }
                ],
                "additionalGids": [44],
                "netDevices": [{"hostInterfaceName": "ib0", "name": "net1"}],
            },
        }
    ],
}


def edits(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["devices"][0]["containerEdits"]
    return found


def test_a_file_that_uses_everything_is_valid() -> None:
    assert problems(GOOD) == ()


BROKEN: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("vendor: unknown field", lambda spec: spec.update(vendor="x")),
    ("cdiVersion: expected a string", lambda spec: spec.pop("cdiVersion")),
    ("cdiVersion: '0.2.0' is no released", lambda spec: spec.update(cdiVersion="0.2.0")),
    ("cdiVersion: the content needs 1.1.0", lambda spec: spec.update(cdiVersion="0.5.0")),
    ("kind: expected a string", lambda spec: spec.pop("kind")),
    ("kind: expected vendor/class", lambda spec: spec.update(kind="k8s.gpu.example")),
    ("kind: expected vendor/class", lambda spec: spec.update(kind="1vendor/claim")),
    ("kind: expected vendor/class", lambda spec: spec.update(kind="vendor/claim.")),
    ("devices: expected at least one", lambda spec: spec.update(devices=[])),
    ("devices[1].name: '7a-gpu-0' is there twice", lambda s: s["devices"].append(s["devices"][0])),
    ("devices[0].name: '-gpu'", lambda spec: spec["devices"][0].update(name="-gpu")),
    ("devices[0].name: expected a string", lambda spec: spec["devices"][0].pop("name")),
    ("devices[0].minor: unknown", lambda spec: spec["devices"][0].update(minor=0)),
    ("devices[0].containerEdits: expected at least one", lambda spec: edits(spec).clear()),
    (
        "devices[0].containerEdits: expected at least one",
        lambda spec: spec["devices"][0].update(containerEdits={"env": []}),
    ),
    (".env[0]: expected NAME=value", lambda spec: edits(spec).update(env=["=b"])),
    (".env[0]: expected NAME=value", lambda spec: edits(spec).update(env=["A"])),
    (".deviceNodes[0].path: expected a string", lambda s: edits(s)["deviceNodes"][0].pop("path")),
    (
        ".deviceNodes[0].path: expected an absolute",
        lambda spec: edits(spec)["deviceNodes"][0].update(path="dev/a"),
    ),
    (".deviceNodes[0].type", lambda spec: edits(spec)["deviceNodes"][0].update(type="x")),
    (".deviceNodes[0].permissions", lambda s: edits(s)["deviceNodes"][0].update(permissions="rx")),
    (
        ".deviceNodes[0].fileMode: expected a whole",
        lambda spec: edits(spec)["deviceNodes"][0].update(fileMode="0666"),
    ),
    (".mounts[0].containerPath", lambda spec: edits(spec)["mounts"][0].pop("containerPath")),
    (".mounts[0].readOnly: unknown", lambda spec: edits(spec)["mounts"][0].update(readOnly=True)),
    (".hooks[0].hookName", lambda spec: edits(spec)["hooks"][0].update(hookName="later")),
    (".hooks[0].path", lambda spec: edits(spec)["hooks"][0].update(path="hook")),
    (".hooks[0].timeout", lambda spec: edits(spec)["hooks"][0].update(timeout=0)),
    (".netDevices[0].name", lambda spec: edits(spec)["netDevices"][0].pop("name")),
    (".mounts: expected a list", lambda spec: edits(spec).update(mounts={})),
]


@pytest.mark.parametrize(("expected", "damage"), BROKEN, ids=[text for text, _ in BROKEN])
def test_each_broken_field_is_refused_with_its_path(
    expected: str, damage: Callable[[dict[str, Any]], object]
) -> None:
    spec = copy.deepcopy(GOOD)

    damage(spec)

    assert any(expected in problem for problem in problems(spec)), problems(spec)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "devices", "name", "containerEdits", "env", "mounts"]),
            children,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_judged_and_never_crashes_the_judge(value: object) -> None:
    assert problems(value)
