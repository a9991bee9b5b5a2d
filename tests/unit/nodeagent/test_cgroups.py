"""To which pod a process belongs, by every spelling of control groups that is known."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.usage.cgroups import Owner, is_hidden, owner_of
from nodeagent.usage.procfs import Procfs

DASHED = "0a1b2c3d-1111-2222-3333-444455556666"
UNDERSCORED = DASHED.replace("-", "_")
OTHER = "9f9f9f9f-1111-2222-3333-444455556666"
STATIC = "0123456789abcdef0123456789abcdef"
ID = "ab" * 32
OUTER = "cd" * 32

SYSTEMD = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERSCORED}.slice"
CGROUPFS = f"/kubepods/burstable/pod{DASHED}"

OF_THE_CONTAINER = {
    "v2, systemd, containerd, burstable": f"0::{SYSTEMD}/cri-containerd-{ID}.scope",
    "v2, systemd, CRI-O, burstable": f"0::{SYSTEMD}/crio-{ID}.scope",
    "v2, systemd, CRI-O, container's inner group": f"0::{SYSTEMD}/crio-{ID}.scope/container",
    "v2, systemd, docker": f"0::{SYSTEMD}/docker-{ID}.scope",
    "v2, systemd, podman-like runtime": f"0::{SYSTEMD}/libpod-{ID}.scope",
    "v2, systemd, guaranteed": (
        f"0::/kubepods.slice/kubepods-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope"
    ),
    "v2, systemd, best effort": (
        "0::/kubepods.slice/kubepods-besteffort.slice/"
        f"kubepods-besteffort-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope"
    ),
    "v2, cgroupfs, burstable": f"0::{CGROUPFS}/{ID}",
    "v2, cgroupfs, guaranteed": f"0::/kubepods/pod{DASHED}/{ID}",
    "v2, cgroupfs, best effort": f"0::/kubepods/besteffort/pod{DASHED}/{ID}",
    "v2, cgroupfs, CRI-O": f"0::{CGROUPFS}/crio-{ID}",
    "v2, containerd without the systemd setting, in its own service": (
        f"0::/system.slice/containerd.service/kubepods-burstable-pod{UNDERSCORED}.slice"
        f":cri-containerd:{ID}"
    ),
    "v2, containerd without the systemd setting": (
        f"0::{SYSTEMD}/kubepods-burstable-pod{UNDERSCORED}.slice:cri-containerd:{ID}"
    ),
    "v2, kind, systemd": (
        "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
        f"kubelet-kubepods-burstable-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope"
    ),
    "v2, kind seen from the host": (
        f"0::/system.slice/docker-{OUTER}.scope/kubelet.slice/kubelet-kubepods.slice/"
        f"kubelet-kubepods-pod{UNDERSCORED}.slice/cri-containerd-{ID}.scope"
    ),
    "v2, kind, cgroupfs, seen from the host": (
        f"0::/docker/{OUTER}/kubelet/kubepods/burstable/pod{DASHED}/{ID}"
    ),
    "v2, a node that is itself a pod": (
        f"0::/kubepods/pod{OTHER}/{OUTER}/kubelet/kubepods/pod{DASHED}/{ID}"
    ),
    "v2, systemd inside the container": f"0::{SYSTEMD}/cri-containerd-{ID}.scope/init.scope",
    "v1, cgroupfs": (
        f"12:pids:{CGROUPFS}/{ID}\n4:memory:{CGROUPFS}/{ID}\n1:name=systemd:{CGROUPFS}/{ID}"
    ),
    "v1, systemd": (
        f"11:devices:{SYSTEMD}/cri-containerd-{ID}.scope\n1:name=systemd:{SYSTEMD}"
        f"/cri-containerd-{ID}.scope"
    ),
    "v1, some controllers are not used": (
        f"13:misc:/\n4:memory:{CGROUPFS}/{ID}\n3:cpu,cpuacct:{CGROUPFS}/{ID}"
    ),
    "v1, only one controller of several names has it": (
        f"3:cpu,cpuacct:{CGROUPFS}/{ID}\n1:name=systemd:/"
    ),
    "hybrid: v1 has the pod, v2 has not": (
        f"4:memory:{CGROUPFS}/{ID}\n0::/system.slice/containerd.service"
    ),
    "v1, docker shim": f"4:memory:/kubepods/burstable/pod{DASHED}/{ID}\n0::/",
    "cgroup namespace: above our own": f"0::/../../pod{DASHED}/{ID}",
}
"""All are spellings of the group of container `ID` in pod `DASHED`."""

OF_OTHERS = {
    "v2, static pod, systemd": (
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC}.slice"
            f"/cri-containerd-{ID}.scope"
        ),
        Owner(STATIC, ID),
    ),
    "v2, static pod, cgroupfs": (f"0::/kubepods/burstable/pod{STATIC}/{ID}", Owner(STATIC, ID)),
    "v2, a runtime's helper": (f"0::{SYSTEMD}/crio-conmon-{ID}.scope", Owner(DASHED, None)),
    "v2, the pod's own group": (f"0::{SYSTEMD}", Owner(DASHED, None)),
    "cgroup namespace: nothing to be seen": ("0::/../../..", None),
    "cgroup namespace: our own": ("0::/", None),
    "host service": ("0::/system.slice/nvidia-persistenced.service", None),
    "host user": ("0::/user.slice/user-1000.slice/session-3.scope", None),
    "container of no pod": (f"0::/system.slice/docker-{ID}.scope", None),
    "service with a pod's look": ("0::/system.slice/podman-0a1b2c3d.service", None),
}


@pytest.mark.parametrize("cgroup", OF_THE_CONTAINER.values(), ids=OF_THE_CONTAINER)
def test_a_container_is_known_by_every_spelling_of_its_control_group(cgroup: str) -> None:
    assert owner_of(f"{cgroup}\n") == Owner(DASHED, ID)


@pytest.mark.parametrize(("cgroup", "owner"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_another_group_has_an_owner_of_its_own_or_none(cgroup: str, owner: Owner | None) -> None:
    assert owner_of(f"{cgroup}\n") == owner


def test_a_group_above_the_agents_own_namespace_says_so() -> None:
    assert is_hidden("0::/../../..\n")
    assert not is_hidden(f"0::{SYSTEMD}\n")


@given(st.text())
def test_anything_may_stand_in_the_file(text: str) -> None:
    owner_of(text)
    is_hidden(text)


def a_process(proc: Path, pid: int, cgroup: str, *, started: int = 4711, name: str = "sh") -> None:
    directory = proc / str(pid)
    directory.mkdir(exist_ok=True)
    fields = " ".join(["S", "1", *["0"] * 17, str(started), "0", "0"])
    (directory / "stat").write_text(f"{pid} ({name}) {fields}\n")
    (directory / "cgroup").write_text(f"{cgroup}\n")


def test_a_process_is_known_by_its_id_and_its_start(tmp_path: Path) -> None:
    a_process(tmp_path, 7, f"0::{CGROUPFS}/{ID}", name="a) (b c")
    procfs = Procfs(tmp_path)
    process = procfs.find(7)

    assert process is not None
    assert (process.name, process.started, process.owner) == ("a) (b c", "4711", Owner(DASHED, ID))
    assert procfs.is_still(process)

    a_process(tmp_path, 7, "0::/system.slice/other.service", started=4712)
    assert not procfs.is_still(process)


def test_a_process_that_ends_or_becomes_another_while_it_is_looked_at_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_process(tmp_path, 7, f"0::{CGROUPFS}/{ID}")
    procfs = Procfs(tmp_path)
    read = Path.read_text

    def read_and_reuse(path: Path, *arguments: object, **options: object) -> str:
        text = read(path, *arguments, **options)  # type: ignore[arg-type] # passed on
        if path.name == "cgroup":
            a_process(tmp_path, 7, "0::/", started=9000)
        return text

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", read_and_reuse)
        assert procfs.find(7) is None
    assert procfs.find(8) is None


def test_processes_of_a_pod_are_found_and_not_those_of_the_runtime(tmp_path: Path) -> None:
    a_process(tmp_path, 7, f"0::{CGROUPFS}/{ID}")
    a_process(tmp_path, 8, f"0::{SYSTEMD}/crio-conmon-{ID}.scope")
    a_process(tmp_path, 9, f"0::/kubepods/pod{OTHER}/{ID}")
    (tmp_path / "self").mkdir()

    assert [process.pid for process in Procfs(tmp_path).of_pods({DASHED})] == [7]


def test_this_very_process_is_of_no_pod_that_is_not_there() -> None:
    procfs = Procfs()
    process = procfs.find(1)

    assert process is not None
    assert list(procfs.of_pods({OTHER})) == []
