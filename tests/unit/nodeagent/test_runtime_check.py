"""What `--check` says of container runtimes, from a Node and the files of its host."""

from pathlib import Path

import pytest

from nodeagent.commands.runtime import verdicts
from nodeagent.commands.verdict import Grade
from nodeagent.config import parse
from nodeagent.fields import JsonObject

V2 = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n'
V3 = 'version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n'


def said(
    host: Path, runtime: str | None, files: dict[str, str], *options: str
) -> list[tuple[Grade, str]]:
    """Check a host with these files; `None`: the Node cannot be had."""
    for name, text in files.items():
        file = host / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    config = parse(["--node-name", "gpu-01", "--host-root", str(host), *options])
    node: JsonObject = {"status": {"nodeInfo": {"containerRuntimeVersion": runtime}}}
    found = verdicts(config, node=node if runtime is not None else None)
    return [(one.grade, one.text) for one in found]


@pytest.mark.parametrize(
    ("runtime", "files", "grade", "word"),
    [
        ("containerd://1.7.24", {}, Grade.FAULT, "enable_cdi = true"),
        (
            "containerd://1.7.24",
            {"etc/containerd/config.toml": V2 + "enable_cdi = true"},
            Grade.GOOD,
            "takes CDI devices",
        ),
        (
            "containerd://1.7.24-gke.1",
            {
                "etc/containerd/config.toml": 'version = 2\nimports = ["conf.d/*.toml"]\n',
                "etc/containerd/conf.d/cdi.toml": V2 + "enable_cdi = true",
            },
            Grade.GOOD,
            "conf.d/cdi.toml",
        ),
        ("containerd://2.1.0", {}, Grade.GOOD, "no configuration file"),
        (
            "containerd://2.1.0",
            {"etc/containerd/config.toml": V3 + "enable_cdi = false"},
            Grade.FAULT,
            "ignores CDI",
        ),
        ("containerd://1.6.30", {}, Grade.FAULT, "upgrade to 1.7"),
        ("cri-o://1.31.0", {}, Grade.GOOD, "takes CDI devices"),
        ("cri-o://1.20.0", {}, Grade.FAULT, "upgrade to 1.23"),
        ("docker://24.0.7", {}, Grade.FAULT, "use containerd or CRI-O"),
        ("kata9", {}, Grade.UNKNOWN, "none that is known here"),
        (None, {}, Grade.UNKNOWN, "whether it takes CDI is not known"),
        ("containerd://2.1.0", {"etc/containerd/config.toml": "]"}, Grade.UNKNOWN, "be read"),
    ],
)
def test_a_runtime_that_ignores_cdi_is_named_with_its_cure(
    tmp_path: Path, runtime: str | None, files: dict[str, str], grade: Grade, word: str
) -> None:
    first = said(tmp_path, runtime, files)[0]

    assert (first[0], word in first[1]) == (grade, True), first


@pytest.mark.parametrize(
    ("runtime", "name", "text"),
    [
        (
            "containerd://2.1.0",
            "etc/containerd/config.toml",
            V3 + 'cdi_spec_dirs = ["/etc/cdi", "/opt/cdi"]',
        ),
        (
            "cri-o://1.31.0",
            "etc/crio/crio.conf.d/10-cdi.conf",
            '[crio.runtime]\ncdi_spec_dirs = ["/opt/cdi"]',
        ),
    ],
)
def test_a_runtime_that_looks_elsewhere_for_cdi_files_is_named(
    tmp_path: Path, runtime: str, name: str, text: str
) -> None:
    grade, told = said(tmp_path, runtime, {name: text})[-1]

    assert grade is Grade.FAULT
    assert "/opt/cdi" in told
    assert "the agent writes to /var/run/cdi" in told
    assert len(said(tmp_path, runtime, {name: text}, "--cdi-dir", "/opt/cdi")) == 1


def test_run_is_var_run(tmp_path: Path) -> None:
    text = V3 + 'cdi_spec_dirs = ["/run/cdi"]'

    (only,) = said(tmp_path, "containerd://2.1.0", {"etc/containerd/config.toml": text})

    assert only[0] is Grade.GOOD


@pytest.mark.parametrize(
    ("runtime", "name", "text"),
    [
        (
            "containerd://2.1.0",
            "etc/containerd/config.toml",
            V3 + 'containerd = {default_runtime_name = "nvidia"}',
        ),
        (
            "cri-o://1.31.0",
            "etc/crio/crio.conf",
            '[crio.runtime]\ndefault_runtime = "nvidia"',
        ),
    ],
)
def test_nvidias_runtime_as_the_default_is_warned_of(
    tmp_path: Path, runtime: str, name: str, text: str
) -> None:
    grade, told = said(tmp_path, runtime, {name: text})[-1]

    assert grade is Grade.WARNING
    assert "NVIDIA_VISIBLE_DEVICES" in told
