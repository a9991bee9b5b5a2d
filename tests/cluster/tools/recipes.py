"""Which programs a real cluster needs, from which modules they come and where they are kept.

The folders beside this file hold a `go.mod` and a `go.sum` each, and no source where a module has
the program already: Go fetches and checks the modules. A program lies in a cache folder outside
the work tree, whose name is a hash of how it was built, so that clones and CI share it and a
changed version is another folder. etcd, kube-apiserver and kubectl may come from
`KUBEBUILDER_ASSETS` instead, the variable by which controller tests name a folder of them.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
KUBERNETES_VERSION: Final = "v1.37.2"
FOUND_IN_ASSETS: Final = frozenset(
    {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
)
DIGEST_CHARACTERS: Final = 16

# Clients parse the server's version, and an unstamped build says "v0.0.0-master+$Format".
STAMP: Final = " ".join(
    f"-X {package}.gitVersion={KUBERNETES_VERSION}"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One Go module and the programs built from it."""

    name: str
    module: Path
    """The folder with `go.mod` and `go.sum`."""

    packages: Mapping[str, str]
    """Name of the program to its Go package."""

    flags: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the programs of exactly this build are kept."""
        digest = hashlib.sha256()
        for file in ("go.mod", "go.sum"):
            digest.update((self.module / file).read_bytes())
        for source in sorted(self.module.glob("*.go")):
            digest.update(source.read_bytes())
        digest.update(repr((sorted(self.packages.items()), self.flags)).encode())
        digest.update(repr(sorted(self.environment.items())).encode())
        return cache_folder() / f"{self.name}-{digest.hexdigest()[:DIGEST_CHARACTERS]}"


KUBERNETES: Final = Recipe(
    name="kubernetes",
    module=HERE / "kubernetes",
    packages={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
        "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    },
    flags=("-ldflags", f"-s -w {STAMP}"),
)
CONTAINERD: Final = Recipe(
    name="containerd",
    module=HERE / "containerd",
    packages={
        program: f"github.com/containerd/containerd/v2/cmd/{program}"
        for program in ("containerd", "containerd-shim-runc-v2", "ctr")
    },
    flags=("-tags", "no_btrfs,no_devmapper,no_zfs", "-ldflags", "-s -w"),
    environment={"CGO_ENABLED": "0"},
)
CDI: Final = Recipe(
    name="cdi",
    module=HERE / "cdi",
    packages={"cdi-reference": "."},
    flags=("-trimpath", "-ldflags", "-s -w"),
    environment={"CGO_ENABLED": "0"},
)
"""What runtimes judge CDI files and fill containers by, as a program; see its `main.go`."""

TOOLKIT: Final = Recipe(
    name="toolkit",
    module=HERE / "toolkit",
    packages={"nvidia-cdi-hook": "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook"},
    flags=("-ldflags", "-s -w"),
)
"""What finishes containers with GPUs on any node; it needs none."""

RECIPES: Final = (KUBERNETES, CONTAINERD, CDI, TOOLKIT)


class MissingProgramError(Exception):
    """A program of the cluster is neither built nor given."""


def cache_folder() -> Path:
    """Where built programs are kept for every clone of this user."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "dra-console" / "cluster"


def from_assets(program: str) -> Path | None:
    """Return the program in `KUBEBUILDER_ASSETS`, if one is there."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets or program not in FOUND_IN_ASSETS:
        return None
    path = Path(assets).absolute() / program
    return path if os.access(path, os.X_OK) else None


def locate(program: str) -> Path:
    """Return the path of a program that can be run now.

    Raises:
        MissingProgramError: nobody built it yet.

    """
    recipe = next(recipe for recipe in RECIPES if program in recipe.packages)
    path = from_assets(program) or recipe.folder / program
    if not os.access(path, os.X_OK):
        raise MissingProgramError(f"{program} is not built: run `make cluster-tools` ({path})")
    return path
