"""Who is let in, by what, and what is not there for them."""

from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dra_console.access import tokens
from dra_console.access.models import ApiToken, Scope
from dra_console.mirror.models import Cluster
from tests.builders.accounts import PASSWORD, a_token
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim, unborn
from tests.integration.api.conftest import client_of
from tests.integration.served_cluster import ServedCluster, served_cluster

ADDRESSES = [
    "/api/v1/resourceclaims/",
    "/api/v1/resourceclaims/team-research/held/",
    "/api/v1/devices/",
    "/api/v1/pools/",
    "/api/v1/clusters/",
    "/api/schema/",
    "/api/v1/nowhere/",
    "/api/",
]


@pytest.fixture(autouse=True)
def _mirrored_fleet(cluster: Cluster) -> None:
    mirror(cluster, *a_fleet())


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["get", "post", "delete", "options", "head"])
def test_nothing_answers_strangers(address: str, method: str) -> None:
    answer = getattr(Client(), method)(address)

    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert b"127.0.0.1" not in answer.content


@pytest.mark.parametrize("ended", ["revoked", "expired", "disabled", "deleted", "unknown"])
def test_a_token_that_has_ended_is_refused(researcher: User, ended: str) -> None:
    client = client_of(researcher)
    match ended:
        case "revoked":
            tokens.revoke(researcher, name=Scope.ADMIN, now=timezone.now())
        case "expired":
            ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        case "disabled":
            User.objects.filter(pk=researcher.pk).update(is_active=False)
        case "deleted":
            researcher.delete()
        case "unknown":
            ApiToken.objects.all().delete()

    answer = client.get("/api/v1/pools/")

    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.json()["type"] == "urn:dra-console:problem:unauthorized"


@pytest.mark.parametrize("address", ["/api/v1/pools/", "/api/v1/resourceclaims/a/b/"])
def test_no_answer_is_kept_by_a_shared_cache(as_researcher: Client, address: str) -> None:
    answer = as_researcher.get(address)

    assert set(answer.headers["Cache-Control"].split(", ")) == {"private", "no-cache"}
    assert {"Authorization", "Cookie"} <= set(answer.headers["Vary"].split(", "))


def test_use_of_a_token_is_noted(researcher: User) -> None:
    client_of(researcher).get("/api/v1/pools/")

    assert ApiToken.objects.get().last_used_at is not None


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer \xff", "Basic YTpi", "Token x", "Bearer a b"]
)
def test_a_malformed_header_is_refused_like_no_header(header: str) -> None:
    answer = Client(headers={"Authorization": header}).get("/api/v1/pools/")

    assert answer.status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    "suffix", ["", "explain/", "attempts/"], ids=["claim", "explain", "attempts"]
)
def test_a_foreign_claim_is_no_different_from_none(as_researcher: Client, suffix: str) -> None:
    foreign = as_researcher.get(f"/api/v1/resourceclaims/team-vision/concealed/{suffix}")
    missing = as_researcher.get(f"/api/v1/resourceclaims/team-vision/never-was/{suffix}")

    assert foreign.status_code == missing.status_code == HTTPStatus.NOT_FOUND
    assert foreign.content == missing.content


def test_a_foreign_claim_cannot_be_deleted_or_told_from_none(as_researcher: Client) -> None:
    answers = [
        as_researcher.delete(
            f"/api/v1/resourceclaims/team-vision/{name}/", headers={"If-Match": '"1"'}
        )
        for name in ("concealed", "never-was")
    ]

    assert [answer.status_code for answer in answers] == [HTTPStatus.NOT_FOUND] * 2
    assert answers[0].content == answers[1].content


def test_a_right_withdrawn_in_the_cluster_is_withdrawn_here(
    as_researcher: Client, served: ServedCluster, redis_url: str
) -> None:
    del redis_url
    from django.core.cache import cache

    before = as_researcher.get("/api/v1/resourceclaims/team-research/held/")
    served.withdraw_everything()
    cache.clear()
    after = as_researcher.get("/api/v1/resourceclaims/team-research/held/")

    assert before.status_code == HTTPStatus.OK
    assert after.status_code == HTTPStatus.NOT_FOUND


def test_rights_that_cannot_be_asked_for_close_the_door(researcher: User, tmp_path: Path) -> None:
    directory = tmp_path / "gone"
    directory.mkdir()
    with served_cluster(directory) as gone:
        kubeconfig = str(gone.kubeconfig)
    cluster = Cluster.objects.create(name="gone", kubeconfig=kubeconfig)
    mirror(cluster, *a_fleet())

    answer = client_of(researcher).get("/api/v1/resourceclaims/?cluster=gone")

    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer.json()["type"] == "urn:dra-console:problem:rights-unknown"
    assert int(answer.headers["Retry-After"]) > 0


def test_an_account_without_kubernetes_identity_sees_counts_only(db: None) -> None:
    del db
    client = client_of(User.objects.create_user("newcomer"))

    assert client.get("/api/v1/pools/").status_code == HTTPStatus.OK
    assert client.get("/api/v1/resourceclaims/").json()["items"] == []
    assert client.get("/api/v1/nodes/").status_code == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("scope", [Scope.READ, Scope.CLAIMS_WRITE, Scope.ADMIN])
def test_a_scope_bounds_what_a_token_does(researcher: User, scope: Scope) -> None:
    client = client_of(researcher, scope=scope)

    read = client.get("/api/v1/resourceclaims/")
    written = client.post(
        "/api/v1/resourceclaims/?dryRun=All",
        unborn(a_claim("new")),
        content_type="application/json",
    )
    deleted = client.delete("/api/v1/resourceclaims/team-research/waits/")

    assert read.status_code == HTTPStatus.OK
    if scope == Scope.READ:
        assert written.status_code == deleted.status_code == HTTPStatus.FORBIDDEN
        assert "scope" in written.json()["detail"]
    else:
        assert written.status_code == HTTPStatus.OK
        assert deleted.status_code == HTTPStatus.PRECONDITION_REQUIRED


@pytest.mark.parametrize("method", ["post", "delete"])
def test_a_session_needs_its_csrf_token_to_write(researcher: User, method: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.login(username=researcher.username, password=PASSWORD)
    address = (
        "/api/v1/resourceclaims/"
        if method == "post"
        else "/api/v1/resourceclaims/team-research/waits/"
    )

    read = client.get("/api/v1/resourceclaims/")
    answer = getattr(client, method)(address, content_type="application/json")

    assert read.status_code == HTTPStatus.OK
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert "CSRF" in answer.json()["detail"]


def test_a_session_with_its_csrf_token_writes(researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.login(username=researcher.username, password=PASSWORD)
    client.get("/api/docs/")
    csrf_token = client.cookies["dra_console_csrf"].value

    answer = client.post(
        "/api/v1/resourceclaims/?dryRun=All",
        unborn(a_claim("new")),
        content_type="application/json",
        headers={"X-CSRFToken": csrf_token},
    )

    assert answer.status_code == HTTPStatus.OK


def test_a_bearer_token_needs_no_csrf_token(researcher: User) -> None:
    client = Client(
        enforce_csrf_checks=True, headers={"Authorization": f"Bearer {a_token(researcher)}"}
    )

    answer = client.post(
        "/api/v1/resourceclaims/?dryRun=All",
        unborn(a_claim("new")),
        content_type="application/json",
    )

    assert answer.status_code == HTTPStatus.OK


def test_an_unknown_address_is_a_problem_object(as_admin: Client) -> None:
    for method in ("get", "post", "put", "patch", "delete"):
        answer = getattr(as_admin, method)("/api/v1/gpus/")
        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_method_that_an_address_lacks_is_refused(as_admin: Client) -> None:
    answer = as_admin.put("/api/v1/nodes/gpu-01/", {}, content_type="application/json")

    assert answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert answer.json()["type"] == "urn:dra-console:problem:method-not-allowed"
    assert "GET" in answer.headers["Allow"]
