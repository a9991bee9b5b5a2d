"""The embedded cluster answers as the real one does, where this project uses it.

Each request of a theme goes to both. A difference that is known and does not matter is
listed with its reason; a new one fails, and so does one that is listed and gone.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.chaos.alike import Ask, differences
from tests.cluster.chaos.asks import CLAIMS, SPACE, THEMES, born, claim, watch
from tests.cluster.chaos.http import Connection
from tests.cluster.chaos.servers import EmbeddedApiServer, RealApiServer
from tests.cluster.rig import Cluster
from tests.integration.devclusters import Devcluster, running_devcluster

STATUS_CODE: Final = (
    "refused by both; only the status code is another, which no client of ours reads"
)
DETAILS: Final = "refused by both alike; only `details` name the subject in another way"
STRICT: Final = "devcluster always decodes strictly, so that mistakes are not lost in silence"
NULL: Final = "Kubernetes writes `conditions: null` here; for readers it is as absent"

KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "lists": {
        "match without version": DETAILS,
        "in the future": "Kubernetes asks to try again after a second, which clients do anyway",
    },
    "watches": {
        "no version": STATUS_CODE,
        "initial events": "refused by both (WatchList is not offered), for another field",
    },
    "mistakes": {
        "a version at birth": STATUS_CODE,
        "strict": STRICT,
        "unknown dropped": STRICT,
        "not a patch": DETAILS,
        "a bad patch": DETAILS,
        "not allowed": DETAILS,
        "dry run of nothing": DETAILS,
        "a generated name": "Kubernetes also names the base of the name as wrong",
        "an odd propagation": DETAILS,
    },
    "claims": {
        "device status": NULL,
        "labels by the status path": NULL,
        "its life": NULL,
    },
    "slices": {"a bad amount": "refused by both; Kubernetes names the patch, devcluster the field"},
    "pods": {
        "bound again": DETAILS,
        "its life": "Kubernetes writes the grace period of 0 down before it deletes the pod",
    },
}


@pytest.fixture(scope="module")
def devcluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    directory: Path = tmp_path_factory.mktemp("devcluster")
    with running_devcluster(directory, options=("--api-only",)) as running:
        yield running


@pytest.fixture(scope="module")
def connections(
    devcluster: Devcluster, cluster: Cluster
) -> Iterator[tuple[Connection, Connection]]:
    both = Connection(devcluster.kubeconfig), Connection(cluster.kubeconfig)
    for each in both:
        status, answer = each.send("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        assert status == 201, answer
    yield both
    for each in both:
        each.close()


@pytest.mark.parametrize("theme", THEMES)
def test_both_answer_alike(theme: str, connections: tuple[Connection, Connection]) -> None:
    found = dict(differences(THEMES[theme], *connections))

    new = {name: said for name, said in found.items() if name not in KNOWN.get(theme, {})}
    assert new == {}
    assert found.keys() == KNOWN.get(theme, {}).keys(), "a listed difference is no more"


def test_both_forget_alike(
    connections: tuple[Connection, Connection], devcluster: Devcluster, cluster: Cluster
) -> None:
    page = {"limit": "2", "labelSelector": "forgets"}

    def forget() -> None:
        for server in (EmbeddedApiServer(devcluster), RealApiServer(cluster)):
            server.forget_history()

    asks = [
        *(born(f"{n}", CLAIMS, claim(f"forgets-{n}", labels={"forgets": ""})) for n in range(5)),
        Ask("a page", "GET", CLAIMS, query=page),
        born("later", CLAIMS, claim("forgets-later", labels={"forgets": ""})),
        Ask("forget", "GET", CLAIMS, query=page, before=forget),
        Ask("the next page", "GET", CLAIMS, query=page | {"continue": "{continue:a page}"}),
        watch("from before", CLAIMS, "{version:a page}", labelSelector="forgets"),
        watch("from a created object", CLAIMS, "{version:0}", labelSelector="forgets"),
        Ask(
            "as it was",
            "GET",
            CLAIMS,
            query={
                "resourceVersion": "{version:1}",
                "resourceVersionMatch": "Exact",
                "labelSelector": "forgets",
            },
        ),
        watch("from then on", CLAIMS, "{version:forget}", labelSelector="forgets"),
    ]

    found = dict(differences(asks, *connections))

    # Kubernetes offers a token to go on with what is there now; nobody here takes it.
    assert found.pop("the next page").startswith("answer.metadata.continue: None")
    assert found == {}


def test_both_keep_everything_when_they_are_killed(
    connections: tuple[Connection, Connection], devcluster: Devcluster, cluster: Cluster
) -> None:
    def crash() -> None:
        for server in (EmbeddedApiServer(devcluster), RealApiServer(cluster)):
            server.kill()
            server.start()

    asks = [
        born("before", CLAIMS, claim("kept", labels={"kept": ""})),
        Ask("read", "GET", f"{CLAIMS}/kept"),
        Ask("read again", "GET", f"{CLAIMS}/kept", before=crash),
        born("after", CLAIMS, claim("kept-too", labels={"kept": ""})),
        Ask("all", "GET", CLAIMS, query={"labelSelector": "kept"}),
    ]

    assert dict(differences(asks, *connections)) == {}
