"""Every kind of CDI file in a real containerd: nodes, mounts and environment, and nothing else.

Device nodes are the null device and its neighbours, libraries are text files. Containers are
started by containerd's own client, without kubelet; `tests/cluster/node` goes the whole way.
"""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cdi.hooks import install_hook
from nodeagent.cdi.metadata import Description, container_path
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.claims.mps import MpsDaemons
from tests.builders.cdi_files import BUS_ID, DRIVER, MPS_ID, ClaimFile, claim_files
from tests.builders.cdi_resolver import resolve
from tests.builders.drivers import LIBRARIES, VERSION, FakeDriver, a_driver, write
from tests.cluster.rig import Containerd, StartError, running_containerd
from tests.programs import need

LOOK = """
busybox find /dev -type c -o -type b | while read -r node; do
  echo "node $node $(busybox stat -c '%t %T %a' "$node")"
done
busybox awk '{print "mount", $5, $4, $6}' /proc/self/mountinfo
env | busybox sed 's/^/env /'
"""
"""Prints what a container has: nodes with their numbers in hexadecimal, mounts, environment."""

MEMORY_DEVICES = 1
"""The major number of the null device and its neighbours."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a container found inside."""

    nodes: dict[str, tuple[int, int, int]]
    """Major, minor and permission bits by path."""

    mounts: dict[str, tuple[str, frozenset[str]]]
    """Path on the mounted file system, and options, by path in the container."""

    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """A node with containerd, a driver, and one CDI file of each kind."""

    containerd: Containerd
    files: dict[str, ClaimFile]
    hook_log: Path

    def look(self, *ids: str) -> Seen:
        """Start a container with these devices and return what it has."""
        nodes, mounts, env = {}, {}, {}
        told = self.containerd.run("sh", "-c", LOOK, cdi_devices=ids)
        for line in told.splitlines():
            match line.split(" "):
                case "node", path, major, minor, mode:
                    nodes[path] = (int(major, 16), int(minor, 16), int(mode, 8))
                case "mount", "/", *_:
                    pass  # Each container has an image of its own.
                case "mount", path, root, options:
                    mounts[path] = (root, frozenset(options.split(",")))
                case "env", *words:
                    name, _, value = " ".join(words).partition("=")
                    env[name] = value
        return Seen(nodes, mounts, env)


@pytest.fixture(scope="module")
def node(
    node_programs: None,  # noqa: ARG001 - it skips the tests where they are missing
) -> Iterator[Node]:
    with running_containerd() as containerd:
        folder = containerd.folder.parent / "gpus"
        driver = a_driver(folder, caps_major=MEMORY_DEVICES)
        listening = listen(driver, "run/nvidia-persistenced/socket")
        program = folder / "nvidia-cdi-hook"
        log = folder / "hooks.log"
        write(program, f'#!/bin/sh\necho "$@" >> {log}\n', mode=0o755)
        (folder / "plugin").mkdir()
        mps = MpsDaemons(directory=folder / "mps")
        for name in ("pipe", "shm"):
            (mps.directory / MPS_ID / name).mkdir(parents=True)
        files = claim_files(
            folder / "cdi", driver, hook=install_hook(program, folder / "plugin"), mps=mps
        )
        log.unlink(missing_ok=True)
        containerd.plain_cdi_directory.mkdir()
        for file in files:
            shutil.copy(file.path, containerd.plain_cdi_directory)
        with listening:
            yield Node(containerd, {file.profile: file for file in files}, log)


def listen(driver: FakeDriver, name: str) -> socket.socket:
    path = driver.files / name
    path.parent.mkdir(parents=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    return listening


@pytest.fixture(scope="module")
def bare(node: Node) -> Seen:
    """What a container has without any device."""
    return node.look()


PROFILES = (
    "full", "full-without-hooks", "mig", "time-sliced", "mps", "admin", "simulated",
    "simulated-mig",
)  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_a_container_gets_exactly_what_the_profiles_file_says(
    node: Node, bare: Seen, profile: str
) -> None:
    file = node.files[profile]
    expected = resolve([file.path.parent], file.ids)
    node.hook_log.write_text("")

    seen = node.look(*file.ids)

    added = {path: found for path, found in seen.nodes.items() if path not in bare.nodes}
    assert set(added) == set(expected.nodes)
    for path, wanted in expected.nodes.items():
        major, minor, mode = added[path]
        assert (major, minor) == (wanted.get("major", 1), wanted.get("minor", 3)), path
        assert mode == wanted.get("fileMode", 0o666), path
    changed = {path: found for path, found in seen.mounts.items() if bare.mounts.get(path) != found}
    assert set(changed) == set(expected.mounts)
    for path, mount in expected.mounts.items():
        root, options = changed[path]
        # A mount's root begins where its file system is mounted on the host.
        assert mount["hostPath"].endswith(root), path
        assert options >= {*mount["options"]} & {"ro", "nosuid", "nodev", "noexec"}, path
    assert {name: seen.env[name] for name in seen.env if bare.env.get(name) != seen.env[name]} == (
        expected.env
    )
    assert bare.nodes.items() <= seen.nodes.items()
    assert node.hook_log.read_text().splitlines() == [
        " ".join(hook["args"][1:]) for hook in expected.hooks
    ]


def test_libraries_tools_and_devices_work_inside(node: Node) -> None:
    script = (
        "cat /usr/lib/x86_64-linux-gnu/libcuda.so.*; echo; echo gone > /dev/nvidia0;"
        " busybox test -S /run/nvidia-persistenced/socket && echo socket;"
        " echo > /usr/bin/nvidia-smi || echo read-only"
    )
    told = node.containerd.run("sh", "-c", script, cdi_devices=node.files["full"].ids)

    assert told.splitlines() == [f"libcuda {VERSION}", "socket", "read-only"]


def test_a_container_reads_what_it_is_told_of_its_devices(node: Node) -> None:
    files = MetadataFiles(
        node.hook_log.parent / "plugin", node.containerd.plain_cdi_directory, DRIVER
    )
    description = Description(
        claim_namespace="lab",
        claim_name="train",
        claim_uid="77777777-0000-4000-8000-000000000099",
        pod_claim_name="mine",
        request="gpu",
        devices=({"driver": DRIVER, "pool": "node-1", "name": "gpu-0", "attributes": {}},),
    )
    files.write(description)

    ids = [*node.files["full"].ids, *files.ids(description.claim_uid, ["gpu"]).values()]
    path = container_path(description, driver=DRIVER)
    told = node.containerd.run("cat", path, cdi_devices=ids)

    assert told.encode() == description.to_stream(generation=1)


def test_nvidias_own_program_makes_links_and_the_loaders_cache(
    node: Node, nvidia_cdi_hook: Path
) -> None:
    folder = node.hook_log.parent / "hooked"
    driver = a_driver(folder)
    make_library(driver.library(f"libcuda.so.{VERSION}"), soname="libcuda.so.1")
    (folder / "plugin").mkdir()
    hook = install_hook(nvidia_cdi_hook, folder / "plugin")
    mps = MpsDaemons(directory=folder / "mps")
    full = claim_files(folder / "cdi", driver, hook=hook, mps=mps)[0]
    text = full.path.read_text().replace("/claim", "/hooked")
    (node.containerd.plain_cdi_directory / "hooked.json").write_text(text)

    links = (
        f"/{LIBRARIES}/libcuda.so",
        f"/{LIBRARIES}/libcuda.so.1",
        f"/dev/dri/by-path/pci-{BUS_ID}-card",
    )
    script = (
        f"for link in {' '.join(links)}; do busybox readlink $link; done;"
        " busybox strings /etc/ld.so.cache"
    )
    told = node.containerd.run(
        "sh", "-c", script, cdi_devices=[full.ids[0].replace("/claim", "/hooked")]
    )

    assert hook.commands == {
        *("create-symlinks", "update-ldcache"),
        *("enable-cuda-compat", "disable-device-node-modification"),
    }
    assert told.splitlines()[:3] == ["libcuda.so.1", f"libcuda.so.{VERSION}", "../card1"]
    assert f"/{LIBRARIES}/libcuda.so.1" in told.splitlines()


def make_library(path: Path, *, soname: str) -> None:
    """Put a library without anything in it where text stood: the loader's cache has no text."""
    command = [need("gcc"), "-shared", f"-Wl,-soname,{soname}", "-x", "c", "/dev/null", "-o"]
    subprocess.run([*command, str(path)], check=True)


@pytest.mark.parametrize(
    ("member", "value"),
    [("cdiVersion", "0.3.0"), ("kind", "nvidia"), ("unheardOf", 1)],
)
def test_a_file_that_our_validator_refuses_stops_a_real_container(
    node: Node, member: str, value: Any
) -> None:
    file = node.files["simulated"]
    name = file.ids[0].replace("claim=", "broken=")
    broken = json.loads(file.path.read_text())
    broken["kind"] = "k8s.gpu.nvidia.com/broken"
    place = node.containerd.plain_cdi_directory / "broken.json"
    place.write_text(json.dumps(broken))
    node.look(name)

    place.write_text(json.dumps({**broken, member: value}))

    with pytest.raises(StartError, match=f"unresolvable CDI devices {name}"):
        node.look(name)
