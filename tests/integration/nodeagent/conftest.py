import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

from dra_console.kube.client import Client
from tests.integration.devclusters import Devcluster, running_devcluster
from tests.integration.nodeagent.rig import AgentProcess, ApiServer

_numbers = count(1)


@pytest.fixture(scope="module")
def shared_devcluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    with running_devcluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def api_server(shared_devcluster: Devcluster) -> ApiServer:
    return ApiServer(Client.from_kubeconfig(str(shared_devcluster.kubeconfig)))


AgentMaker: TypeAlias = Callable[..., AgentProcess]


@contextmanager
def agents_of(cluster: Devcluster, api_server: ApiServer) -> Iterator[AgentMaker]:
    """Make agents, each for a node of its own, and end them afterwards."""
    agents: list[AgentProcess] = []
    with tempfile.TemporaryDirectory(prefix="na") as root:

        def make(profile: str | None = "h100x8", *options: str) -> AgentProcess:
            node = f"node-{next(_numbers)}"
            api_server.make_node(node)
            agent = AgentProcess(node, Path(root) / node, cluster.kubeconfig, profile, options)
            agent.is_preloaded = True
            agents.append(agent)
            return agent

        yield make
        for agent in agents:
            if agent.process.poll() is None:
                agent.kill()


@pytest.fixture
def new_agent(shared_devcluster: Devcluster, api_server: ApiServer) -> Iterator[AgentMaker]:
    """Make agents that end with the test."""
    with agents_of(shared_devcluster, api_server) as make:
        yield make


@pytest.fixture(scope="module")
def shared_agent(shared_devcluster: Devcluster, api_server: ApiServer) -> Iterator[AgentProcess]:
    """An agent of a node with eight H100, for tests that leave it running."""
    with agents_of(shared_devcluster, api_server) as make:
        agent = make()
        agent.start()
        agent.wait_until_it_serves()
        yield agent


@pytest.fixture
def agent(new_agent: AgentMaker) -> AgentProcess:
    """An agent of a node with eight H100, started and serving, for one test alone."""
    started = new_agent()
    started.start()
    started.wait_until_it_serves()
    return started
