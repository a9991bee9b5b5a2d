"""Fixtures of the tests that run on a real Kubernetes.

They are skipped only where neither the cluster's programs nor Go, to build them, are there;
with `CI=true` that is a failure as well. A test that fails shows what its clusters said last.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.cluster.rig import Cluster, running_cluster
from tests.cluster.rig.lifecycle import RUNNING, keep_logs
from tests.cluster.tools.building import missing_programs
from tests.cluster.tools.recipes import CDI, CONTAINERD, KUBERNETES, TOOLKIT, Recipe, locate
from tests.programs import need

StartCluster = Callable[..., Cluster]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of each server's log, and where all of it is kept: the clusters go with it."""
    report = yield
    if report.failed:
        for cluster in RUNNING:
            report.sections.append(("All logs", str(keep_logs(cluster))))
            report.sections += [(f"Log of {one.name}", one.tail()) for one in cluster.servers]
    return report


def need_programs(recipe: Recipe) -> None:
    """Have the programs of a recipe, or skip; what is missing is named."""
    missing = missing_programs(recipe)
    if not missing:
        return
    reason = f"not built: {', '.join(missing)}"
    if shutil.which("go"):
        pytest.fail(f"{reason}; run `make cluster-tools`")
    _miss(f"{reason}, and Go is not installed")


def _miss(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and CI=true allows no skip")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster_programs() -> None:
    """Have everything that a cluster without a real node needs."""
    need_programs(KUBERNETES)


@pytest.fixture(scope="session")
def cdi_reference() -> Path:
    """Return the program that answers with the code of container runtimes."""
    need_programs(CDI)
    return locate("cdi-reference")


@pytest.fixture(scope="session")
def nvidia_cdi_hook() -> Path:
    """Return NVIDIA's own program that finishes containers."""
    need_programs(TOOLKIT)
    return locate("nvidia-cdi-hook")


@pytest.fixture(scope="session")
def node_programs() -> None:
    """Have what a real node needs beside those, or skip."""
    need_programs(CONTAINERD)
    need("runc", "/usr/sbin/runc")
    need("busybox")
    need("ptp", "/usr/lib/cni/ptp", "/opt/cni/bin/ptp")
    if os.geteuid() != 0:
        _miss("a real node needs root")


@pytest.fixture(scope="module")
def cluster_options() -> dict[str, Any]:
    """Options of the module's `cluster`; a module overrides this fixture with its own."""
    return {}


@pytest.fixture(scope="module")
def cluster(
    cluster_programs: None,  # noqa: ARG001 - it skips the test where they are missing
    cluster_options: dict[str, Any],
) -> Iterator[Cluster]:
    """One cluster for all tests of a module, which leave it serving; see `start_cluster`."""
    with running_cluster(**cluster_options) as running:
        yield running


@pytest.fixture
def start_cluster(
    cluster_programs: None,  # noqa: ARG001 - it skips the test where they are missing
) -> Iterator[StartCluster]:
    """Start clusters for one test, each with the `ClusterOptions` given as keywords."""
    with contextlib.ExitStack() as running:
        yield lambda **options: running.enter_context(running_cluster(**options))
