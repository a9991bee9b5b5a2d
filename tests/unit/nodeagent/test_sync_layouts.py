"""In which layout counters are published, by what the server takes, in virtual time."""

import pytest

from nodeagent.publish.features import Layout
from tests.builders.agents import a_mig_inventory
from tests.builders.publication import Publication, all_names
from tests.builders.slice_server import SliceServer


@pytest.mark.parametrize(
    ("git_version", "takes"),
    [
        ("v1.33.4", Layout.MIXED),
        ("v1.34.9-eks-1", Layout.MIXED),
        ("v1.35.0-gke.1", Layout.SPLIT),
        ("v1.37.2", Layout.SPLIT),
    ],
)
def test_the_layout_of_counters_is_that_of_the_servers_minor_version(
    git_version: str, takes: Layout
) -> None:
    node = Publication(SliceServer(git_version=git_version, layout=takes))

    node.offer(a_mig_inventory())
    node.run_for(5)

    assert node.server.devices() == all_names(a_mig_inventory())
    assert node.server.tried <= 2
    assert node.server.kube_events == []


@pytest.mark.parametrize(
    ("git_version", "takes"), [("v1.34.0", Layout.SPLIT), ("v1.36.0", Layout.MIXED)]
)
def test_a_server_that_refuses_its_versions_layout_gets_the_other_one(
    git_version: str, takes: Layout
) -> None:
    node = Publication(SliceServer(git_version=git_version, layout=takes))

    node.offer(a_mig_inventory())
    node.run_for(5)

    assert node.server.devices() == all_names(a_mig_inventory())
    assert {
        bool(spec.get("sharedCounters")) and bool(spec.get("devices"))
        for spec in node.server.specs()
    } == {takes is Layout.MIXED}


def test_an_upgraded_server_is_asked_anew_within_an_hour() -> None:
    node = Publication(SliceServer(git_version="v1.34.0", layout=Layout.MIXED))
    node.offer(a_mig_inventory())
    node.run_for(60)

    node.server.git_version, node.server.layout = "v1.35.0", Layout.SPLIT
    node.run_for(3700)

    assert node.server.rediscovered == 1
    assert [bool(spec.get("devices")) for spec in node.server.specs()] == [False, True, True]
    assert node.server.is_whole()
