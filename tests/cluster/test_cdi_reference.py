"""Our rules about CDI files beside the code that container runtimes share."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cdi.hooks import HookProgram
from nodeagent.cdi.validate import problems
from nodeagent.claims.mps import MpsDaemons
from tests.builders.cdi_damage import changed_in_one_field
from tests.builders.cdi_files import ClaimFile, claim_files
from tests.builders.cdi_resolver import UnresolvableError, resolve
from tests.builders.drivers import a_driver
from tests.cluster.cdi_reference import Reference

TRIED_PER_FILE = 100

EVERY_MEMBER: dict[str, Any] = {
    "cdiVersion": "1.1.0",
    "kind": "example.com/a.b",
    "annotations": {"example.com/plan": "x"},
    "devices": [
        {
            "name": "7a",
            "annotations": {"a": "b"},
            "containerEdits": {
                "env": ["A=b"],
                "deviceNodes": [
                    {
                        "path": "/dev/a", "hostPath": "/dev/null", "type": "c", "major": 1,
                        "minor": 3, "fileMode": 438, "permissions": "rw", "uid": 1, "gid": 2,
                    }
                ],
                "mounts": [
                    {"hostPath": "/a", "containerPath": "/b", "options": ["bind"], "type": "none"}
                ],
                "hooks": [
                    {
                        "hookName": "poststop", "path": "/a", "args": ["a"], "env": ["A=b"],
                        "timeout": 5,
                    }
                ],
                "additionalGids": [44],
                "intelRdt": {
                    "closID": "a", "l3CacheSchema": "L3:0=f", "memBwSchema": "MB:0=7",
                    "schemata": ["L3:0=f"], "enableMonitoring": True,
                },
                "netDevices": [{"hostInterfaceName": "ib0", "name": "net0"}],
            },
        }
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def reference(cdi_reference: Path) -> Reference:
    return Reference(cdi_reference)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[ClaimFile, ...]:
    folder = tmp_path_factory.mktemp("node")
    hook = HookProgram("/plugin/nvidia-cdi-hook")
    mps = MpsDaemons(directory=folder / "mps")
    return claim_files(folder / "cdi", a_driver(folder), hook=hook, mps=mps)


def write_all(directory: Path, specs: list[Any]) -> list[Path]:
    directory.mkdir()
    paths = [directory / f"{number}.json" for number in range(len(specs))]
    for path, spec in zip(paths, specs, strict=True):
        path.write_text(json.dumps(spec, ensure_ascii=False))
    return paths


def test_runtimes_take_every_profiles_file_at_its_declared_version(
    reference: Reference, files: tuple[ClaimFile, ...]
) -> None:
    assert reference.refusals(file.path for file in files) == [None] * len(files)


def test_the_declared_version_is_the_smallest_that_runtimes_take(
    reference: Reference, files: tuple[ClaimFile, ...], tmp_path: Path
) -> None:
    older = {"0.4.0": "0.3.0", "0.5.0": "0.4.0"}
    specs = [
        {**file.spec, "cdiVersion": older[str(file.spec["cdiVersion"])]}
        for file in files
        if file.spec["cdiVersion"] in older
    ]

    assert len(specs) > 4
    refusals = reference.refusals(write_all(tmp_path / "specs", specs))
    assert all("version must be at least" in str(refusal) for refusal in refusals)


def test_what_runtimes_refuse_is_refused_here_first(
    reference: Reference, files: tuple[ClaimFile, ...], tmp_path: Path
) -> None:
    assert problems(EVERY_MEMBER) == ()
    chance = random.Random(20261130)
    specs = list(changed_in_one_field(EVERY_MEMBER, lambda every: every))
    for file in files:
        specs += changed_in_one_field(file.spec, lambda all_: chance.sample(all_, TRIED_PER_FILE))

    refusals = reference.refusals(write_all(tmp_path / "specs", specs))

    passed = [
        (refusal, spec)
        for refusal, spec in zip(refusals, specs, strict=True)
        if refusal is not None and not problems(spec)
    ]
    assert passed == []
    refused = sum(refusal is not None for refusal in refusals)
    assert 500 < refused < len(specs)


def test_a_container_gets_what_our_resolver_says(
    reference: Reference, files: tuple[ClaimFile, ...]
) -> None:
    directory = files[0].path.parent
    for names in (*(file.ids for file in files), [*files[0].ids, *files[2].ids]):
        ours = resolve([directory], names)
        theirs = reference.container([directory], names)["container"]

        assert dict(item.split("=", 1) for item in theirs["process"]["env"]) == ours.env
        nodes = {
            node["path"]: (node["type"], node["major"], node["minor"])
            for node in theirs["linux"]["devices"]
        }
        assert set(nodes) == set(ours.nodes)
        assert all(
            nodes[path] == (node["type"], node["major"], node["minor"])
            for path, node in ours.nodes.items()
            if "major" in node
        )
        mounts = {
            mount["destination"]: (mount["source"], mount["options"])
            for mount in theirs.get("mounts", [])
        }
        assert mounts == {
            path: (mount["hostPath"], mount["options"]) for path, mount in ours.mounts.items()
        }
        hooks = [hook["args"] for hook in theirs.get("hooks", {}).get("createContainer", [])]
        assert hooks == [hook["args"] for hook in ours.hooks]


def test_one_name_in_two_files_of_a_directory_means_nothing_and_a_later_directory_wins(
    reference: Reference, files: tuple[ClaimFile, ...], tmp_path: Path
) -> None:
    (name, *_) = files[0].ids
    static, dynamic = tmp_path / "static", tmp_path / "dynamic"
    for directory in (static, dynamic):
        directory.mkdir()
        shutil.copy(files[0].path, directory)
    other = json.loads(files[0].path.read_text())
    other["containerEdits"]["env"] = ["OTHER=1"]
    (dynamic / files[0].path.name).write_text(json.dumps(other))

    assert "OTHER" in resolve([static, dynamic], [name]).env
    told = reference.container([static, dynamic], [name])["container"]["process"]["env"]
    assert "OTHER=1" in told

    shutil.copy(dynamic / files[0].path.name, dynamic / "again.json")
    shutil.rmtree(static)
    assert "unresolvable" in reference.container([dynamic], [name])["error"]
    with pytest.raises(UnresolvableError):
        resolve([dynamic], [name])
