"""A served cluster with its mirror, and people who open pages in a browser's session.

The administrator may do everything; the researcher may do everything with claims and
templates in `team-research`, and list nodes, slices and classes.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from dra_console.mirror.models import Cluster
from tests.builders.accounts import an_account
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.integration.served_cluster import ServedCluster, served_cluster

READS = frozenset({"get", "list", "watch"})


@pytest.fixture(autouse=True)
def _empty_cache(redis_url: str) -> None:
    del redis_url
    cache.clear()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    with served_cluster(tmp_path) as one:
        one.grant("group:gpu-admins", "*")
        one.grant(
            "group:team-research",
            "resourceclaims",
            "resourceclaimtemplates",
            namespaces=frozenset({"team-research"}),
        )
        one.grant("group:team-research", "nodes", "resourceslices", "deviceclasses", verbs=READS)
        yield one


@pytest.fixture
def cluster(db: None, served: ServedCluster) -> Cluster:
    """Two nodes of two H100 each; `team-vision`'s claims are `secret` and `hidden`."""
    del db
    row = served.as_row()
    mirror(row, *a_fleet())
    return row


def logged_in(username: str, *groups: str) -> Client:
    client = Client()
    client.force_login(an_account(username, groups=groups))
    return client


@pytest.fixture
def as_admin(db: None) -> Client:
    del db
    return logged_in("admin", "gpu-admins")


@pytest.fixture
def as_researcher(db: None) -> Client:
    del db
    return logged_in("researcher", "team-research")


@pytest.fixture
def as_nobody(db: None) -> Client:
    """Log in somebody who has an identity in Kubernetes and no right there."""
    del db
    return logged_in("nobody")
