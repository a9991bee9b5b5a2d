"""How the cluster's programs are built and found, on a small Go module of the test's own."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.tools.building import BuildError, build, missing_programs
from tests.cluster.tools.recipes import KUBERNETES, MissingProgramError, Recipe, locate
from tests.programs import need

SOURCE = 'package main\n\nfunc main() { println("whole") }\n'


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Its own cache is the one thing that Go shall not lose by the line above.
    monkeypatch.setenv("GOCACHE", str(Path.home() / ".cache" / "go-build"))
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module small\n\ngo 1.26.0\n")
    (module / "go.sum").touch()
    (module / "main.go").write_text(SOURCE)
    return Recipe(name="small", module=module, packages={"small": "small"}, flags=())


def test_a_program_is_built_once_and_whole(recipe: Recipe) -> None:
    told: list[str] = []
    build(recipe, go=need("go"), say=told.append)
    build(recipe, go=need("go"), say=told.append)

    program = recipe.folder / "small"
    assert subprocess.run([program], capture_output=True, check=True).stderr == b"whole\n"
    assert [line.partition(" in ")[0] for line in told] == [
        "small: building (1 of 1",
        "small: built",
    ]


def test_another_go_sum_is_another_folder(recipe: Recipe) -> None:
    before = recipe.folder
    (recipe.module / "go.sum").write_text("changed\n")
    assert recipe.folder != before


def test_what_go_says_is_told_when_a_build_fails(recipe: Recipe) -> None:
    (recipe.module / "main.go").write_text("package main\n\nfunc main() { missing() }\n")
    with pytest.raises(BuildError, match="undefined: missing"):
        build(recipe, go=need("go"), say=lambda _: None)
    assert missing_programs(recipe) == ["small"]


def test_a_killed_build_leaves_nothing_that_is_taken_for_a_program(
    recipe: Recipe, tmp_path: Path
) -> None:
    slow = tmp_path / "slow-go"
    slow.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != -o ]; do shift; done\n'
        'echo half > "$2"; chmod +x "$2"; exec sleep 60\n'
    )
    slow.chmod(0o755)
    program = (
        "import pathlib, sys\n"
        "from tests.cluster.tools.building import build\n"
        "from tests.cluster.tools.recipes import Recipe\n"
        "recipe = Recipe(name='small', module=pathlib.Path(sys.argv[1]),"
        " packages={'small': 'small'}, flags=())\n"
        "build(recipe, go=sys.argv[2], say=print)\n"
    )
    builder = subprocess.Popen(
        [sys.executable, "-c", program, recipe.module, slow],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not list(recipe.folder.glob(".small.*.part")):
        assert builder.poll() is None
        time.sleep(0.05)
    os.killpg(builder.pid, 9)
    builder.wait()

    assert missing_programs(recipe) == ["small"]
    build(recipe, go=need("go"), say=lambda _: None)
    assert missing_programs(recipe) == []
    assert {path.name for path in recipe.folder.iterdir()} == {".lock", "small"}


def test_given_programs_are_taken_and_only_the_others_are_built(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recipe.folder.is_relative_to(tmp_path), "the cache of this test is empty"
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl", "kubelet"):
        shutil.copy("/bin/true", assets / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert locate("etcd") == assets / "etcd"
    assert missing_programs(KUBERNETES) == ["kube-controller-manager", "kube-scheduler", "kubelet"]
    with pytest.raises(MissingProgramError, match="make cluster-tools"):
        locate("kubelet")
