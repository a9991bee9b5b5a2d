"""One cluster with a real node, its agent and the console, for all tests of this folder."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack

import pytest

from tests.cluster.node.agent import USERNAME, NodeAgent
from tests.cluster.node.console import console_in_sight
from tests.cluster.node.deployment import Deployment
from tests.cluster.node.stage import Stage
from tests.cluster.rig import Cluster, running_cluster
from tests.cluster.workloads import eventually


@pytest.fixture(scope="package")
def cluster(
    cluster_programs: None,  # noqa: ARG001 - it skips the test where they are missing
    node_programs: None,  # noqa: ARG001 - as above
) -> Iterator[Cluster]:
    with running_cluster(node=True) as running:
        yield running


@pytest.fixture(scope="package")
def _whole(cluster: Cluster) -> Iterator[Stage]:
    with ExitStack() as stack:
        sight = stack.enter_context(console_in_sight(cluster, agents=USERNAME))
        agent = NodeAgent(cluster, console_url=sight.agents_url)
        stack.callback(agent.server.stop)
        yield Stage(cluster, agent, sight)


@pytest.fixture
def stage(_whole: Stage) -> Iterator[Stage]:
    """Give a node with a live agent and no pod; a test may leave it as it likes."""
    _whole.agent.server.start()
    eventually(lambda: _whole.sight.agent(_whole.node.name).state == "live")
    yield _whole
    _whole.agent.server.start()
    _whole.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what agents and console have said to the report of a failure."""
    report = yield
    given = getattr(item, "funcargs", {})
    for stage in (given.get("stage"), given.get("deployment")):
        if report.failed and isinstance(stage, Stage | Deployment):
            report.sections += stage.logs()
    return report
