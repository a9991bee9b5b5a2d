"""A served cluster, its mirror, and two people: an administrator and a researcher.

The administrator may do everything. The researcher may do everything with claims and
templates in `team-research`, and list what belongs to no namespace.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from dra_console.access.models import Scope
from dra_console.mirror.models import Cluster
from tests.builders.accounts import a_token, an_account
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
    del db
    return served.as_row()


@pytest.fixture
def admin(db: None) -> User:
    del db
    return an_account("admin", groups=("gpu-admins",))


@pytest.fixture
def researcher(db: None) -> User:
    del db
    return an_account("researcher", groups=("team-research",))


def client_of(user: User, *, scope: Scope = Scope.ADMIN) -> Client:
    """Log in by token, as a program does."""
    token = a_token(user, scope=scope, name=scope)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def as_admin(admin: User) -> Client:
    return client_of(admin)


@pytest.fixture
def as_researcher(researcher: User) -> Client:
    return client_of(researcher)


@pytest.fixture
def as_nobody(db: None) -> Client:
    """Log in somebody who has an identity in Kubernetes and no right there."""
    del db
    return client_of(an_account("nobody"))


@pytest.fixture
def as_reader(db: None) -> Client:
    """Log in by session, as a browser does."""
    del db
    client = Client()
    client.force_login(an_account("reader"))
    return client
