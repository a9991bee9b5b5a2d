"""A served cluster, its mirror, and two people: an administrator and a researcher.

The administrator may do everything. The researcher may do everything with claims and
templates in `team-research`, and list what belongs to no namespace.
"""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from dra_console.access.models import Scope
from dra_console.kube.kinds import NAMESPACES
from dra_console.mirror.models import Cluster
from tests.builders.accounts import a_token, an_account
from tests.builders.objects import a_namespace, unborn
from tests.integration.served_cluster import ServedCluster, served_cluster

READS = frozenset({"get", "list", "watch"})


@pytest.fixture(autouse=True)
def _empty_cache(redis_url: str) -> None:
    del redis_url
    cache.clear()


@pytest.fixture(scope="module")
def _one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    with served_cluster(tmp_path_factory.mktemp("served")) as one:
        for name in ("team-research", "team-vision"):
            one.client.create(NAMESPACES, unborn(a_namespace(name)))
        yield one


@pytest.fixture
def served(_one_server: ServedCluster) -> ServedCluster:
    one = _one_server
    one.empty()
    one.grant("group:gpu-admins", "*")
    one.grant(
        "group:team-research",
        "resourceclaims",
        "resourceclaimtemplates",
        namespaces=frozenset({"team-research"}),
    )
    one.grant("group:team-research", "nodes", "resourceslices", "deviceclasses", verbs=READS)
    return one


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
