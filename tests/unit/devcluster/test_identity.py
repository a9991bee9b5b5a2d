"""Tokens, impersonation, rights and the reviews that ask about them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.authz import EVERY, Grant, Policy
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.fields import inside
from dra_console.devcluster.tokens import Reference, ServiceAccountToken, Signer, TokenError
from dra_console.kube.kinds import NODES, PODS, RESOURCE_CLAIMS, SERVICE_ACCOUNTS
from tests.unit.devcluster.asking import a_cluster, a_request, ask
from tests.unit.devcluster.things import LAB, metadata, new_claim, new_pod, with_namespace

POLICY = Policy(
    (
        Grant(
            frozenset({"group:team"}),
            frozenset({"get", "list", "create"}),
            frozenset({"resourceclaims", "namespaces"}),
            namespaces=frozenset({LAB}),
        ),
        Grant(frozenset({"group:team"}), frozenset({"get"}), frozenset({"nodes"})),
        Grant(
            frozenset({"system:serviceaccount:lab:console"}),
            frozenset({"impersonate"}),
            frozenset({"users", "groups"}),
        ),
        Grant(
            frozenset({"system:serviceaccount:lab:reviewer"}),
            frozenset({EVERY}),
            frozenset({"tokenreviews"}),
        ),
    )
)
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
WHO_AM_I = f"{AUTHENTICATION}/selfsubjectreviews"
AS_TEAM = (("impersonate-user", "ada"), ("impersonate-group", "team"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = a_cluster(tmp_path, policy=POLICY)
    with_namespace(cluster.store)
    for name in ("console", "agent", "reviewer"):
        cluster.store.create(SERVICE_ACCOUNTS, {"metadata": metadata(name)})
    cluster.store.create(NODES, {"metadata": {"name": "gpu-01"}})
    yield cluster
    cluster.store.close()


def token_for(cluster: Cluster, account: str, spec: JsonObject | None = None) -> str:
    path = f"{SERVICE_ACCOUNTS.path(LAB, account)}/token"
    status, answer = ask(cluster, a_request("POST", path, {"spec": spec or {}}))
    assert status == 201
    return inside(answer, "status").text("token")


def review(cluster: Cluster, token: str, *audiences: str) -> JsonObject:
    body: JsonObject = {"spec": {"token": token, "audiences": [*audiences]}}
    _, answer = ask(cluster, a_request("POST", f"{AUTHENTICATION}/tokenreviews", body))
    return inside(answer, "status").raw


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def identified(cluster: Cluster, headers: tuple[tuple[str, str], ...]) -> int:
    """Return the status of a request that everybody who is known may make."""
    return ask(cluster, a_request("POST", WHO_AM_I, {}, headers=headers))[0]


def whoami(cluster: Cluster, headers: tuple[tuple[str, str], ...]) -> JsonObject:
    status, answer = ask(cluster, a_request("POST", WHO_AM_I, {}, headers=headers))
    assert status == 201
    return inside(answer, "status", "userInfo").raw


def test_request_without_credentials_is_the_administrators(cluster: Cluster) -> None:
    user = whoami(cluster, ())

    assert user == {
        "username": "system:admin",
        "groups": ["system:masters", "system:authenticated"],
    }


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (("host", "127.0.0.1:8001"), 201),
        (("host", "localhost"), 201),
        (("host", "rebound.example.com:8001"), 403),
        (("origin", "https://example.com"), 403),
    ],
)
def test_web_page_is_nobody_without_credentials(
    cluster: Cluster, header: tuple[str, str], status: int
) -> None:
    assert identified(cluster, (header,)) == status
    assert identified(cluster, (header, *bearer(token_for(cluster, "agent")))) == 201


def test_token_stands_for_its_account(cluster: Cluster) -> None:
    token = token_for(cluster, "agent")

    user = whoami(cluster, bearer(token))

    assert user["username"] == "system:serviceaccount:lab:agent"
    assert user["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:lab",
        "system:authenticated",
    ]


def test_token_for_another_audience_opens_nothing_here(cluster: Cluster) -> None:
    token = token_for(cluster, "agent", {"audiences": ["dra-console"]})

    assert identified(cluster, bearer(token)) == 401
    assert review(cluster, token, "dra-console")["authenticated"] is True
    assert review(cluster, token, "other")["authenticated"] is False


@pytest.mark.parametrize("token", ["x", "a.b.c", "a.b.", "", "ä.ö.ü"])
def test_what_is_no_token_is_refused(cluster: Cluster, token: str) -> None:
    assert identified(cluster, bearer(token)) == 401


def test_token_signed_with_another_key_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = a_cluster(tmp_path / "other")
    with_namespace(other.store)
    other.store.create(SERVICE_ACCOUNTS, {"metadata": metadata("agent")})

    assert identified(cluster, bearer(token_for(other, "agent"))) == 401
    other.store.close()


def test_token_ends_with_its_time(cluster: Cluster) -> None:
    token = token_for(cluster, "agent", {"expirationSeconds": 600})

    with time_machine.travel(datetime.fromtimestamp(time.time() + 601, UTC)):
        assert identified(cluster, bearer(token)) == 401


def test_token_ends_with_its_account(cluster: Cluster) -> None:
    token = token_for(cluster, "agent")
    cluster.store.delete(SERVICE_ACCOUNTS, LAB, "agent")
    cluster.store.create(SERVICE_ACCOUNTS, {"metadata": metadata("agent")})

    assert identified(cluster, bearer(token)) == 401


def test_token_of_a_pod_names_the_pod_and_its_node_and_ends_with_the_pod(cluster: Cluster) -> None:
    cluster.store.create(PODS, new_pod("agent-x", node="gpu-01"))
    reference: JsonObject = {"kind": "Pod", "apiVersion": "v1", "name": "agent-x"}
    token = token_for(cluster, "agent", {"audiences": ["dra-console"], "boundObjectRef": reference})

    user = inside(review(cluster, token, "dra-console"), "user")
    cluster.store.delete(PODS, LAB, "agent-x", grace_period_seconds=0)

    extra = user.raw["extra"]
    assert isinstance(extra, dict)
    assert extra["authentication.kubernetes.io/pod-name"] == ["agent-x"]
    assert extra["authentication.kubernetes.io/node-name"] == ["gpu-01"]
    assert review(cluster, token, "dra-console")["authenticated"] is False


def test_token_of_a_node_names_the_node(cluster: Cluster) -> None:
    reference: JsonObject = {"kind": "Node", "apiVersion": "v1", "name": "gpu-01"}
    token = token_for(cluster, "agent", {"boundObjectRef": reference})

    extra = whoami(cluster, bearer(token))["extra"]

    assert isinstance(extra, dict)
    assert extra["authentication.kubernetes.io/node-name"] == ["gpu-01"]


@pytest.mark.parametrize(
    ("spec", "status", "field"),
    [
        ({"expirationSeconds": 5}, 422, "spec.expirationSeconds"),
        ({"expirationSeconds": 2**33}, 422, "spec.expirationSeconds"),
        ({"boundObjectRef": {"kind": "Secret", "name": "x"}}, 422, "spec.boundObjectRef.kind"),
        ({"boundObjectRef": {"kind": "Pod", "name": "missing"}}, 404, "missing"),
        ({"audiences": "x"}, 400, "spec.audiences"),
    ],
)
def test_token_request_is_refused_with_the_field(
    cluster: Cluster, spec: JsonObject, status: int, field: str
) -> None:
    path = f"{SERVICE_ACCOUNTS.path(LAB, 'agent')}/token"

    refused, answer = ask(cluster, a_request("POST", path, {"spec": spec}))

    assert refused == status
    assert field in str(answer["message"])


def test_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    first, second = Signer.from_directory(tmp_path), Signer.from_directory(tmp_path)

    assert first == second
    assert (tmp_path / "service-account.key").stat().st_mode & 0o077 == 0


def test_changed_token_is_refused() -> None:
    signer = Signer(b"k" * 32)
    account = Reference("agent", "uid-1")
    token = signer.sign(ServiceAccountToken("lab", account, ("a",), 0, 100, "id"))
    header, payload, signature = token.split(".")

    assert signer.read(token, now_seconds=50).account == account
    with pytest.raises(TokenError, match="not signed by this server"):
        signer.read(f"{header}.{payload[:-2]}AA.{signature}", now_seconds=50)


def test_user_without_a_grant_is_refused_in_kubernetes_words(cluster: Cluster) -> None:
    request = a_request("GET", PODS.path(), headers=(("impersonate-user", "bob"),))

    status, refusal = ask(cluster, request)

    assert status == 403
    assert refusal["message"] == (
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster'
        " scope"
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", RESOURCE_CLAIMS.path(LAB), 200),
        ("POST", RESOURCE_CLAIMS.path(LAB), 201),
        ("GET", RESOURCE_CLAIMS.path(), 403),
        ("GET", RESOURCE_CLAIMS.path("default"), 403),
        ("DELETE", RESOURCE_CLAIMS.path(LAB, "gpu"), 403),
        ("GET", NODES.path(None, "gpu-01"), 200),
        ("GET", NODES.path(), 403),
        ("GET", "/api/v1/namespaces/lab", 200),
        ("GET", "/api/v1/namespaces/other", 403),
        ("GET", "/version", 200),
    ],
)
def test_grant_covers_its_verbs_resources_and_namespaces(
    cluster: Cluster, method: str, path: str, status: int
) -> None:
    assert ask(cluster, a_request(method, path, new_claim(), headers=AS_TEAM))[0] == status


def test_impersonating_needs_the_right_to(cluster: Cluster) -> None:
    console, agent = token_for(cluster, "console"), token_for(cluster, "agent")

    assert whoami(cluster, bearer(console) + AS_TEAM) == {
        "username": "ada",
        "groups": ["team", "system:authenticated"],
    }
    assert identified(cluster, bearer(agent) + AS_TEAM) == 403
    with_uid = (*AS_TEAM, ("impersonate-uid", "7"))
    assert identified(cluster, bearer(console) + with_uid) == 403


def test_uid_and_extra_are_taken_over(cluster: Cluster) -> None:
    headers = (*AS_TEAM, ("impersonate-uid", "7"), ("impersonate-extra-acme.com%2fproject", "p"))

    user = whoami(cluster, headers)

    assert user["uid"] == "7"
    assert user["extra"] == {"acme.com/project": ["p"]}


def test_groups_without_a_user_are_refused(cluster: Cluster) -> None:
    assert identified(cluster, (("impersonate-group", "team"),)) == 400


def test_impersonated_service_account_is_in_its_groups(cluster: Cluster) -> None:
    user = whoami(cluster, (("impersonate-user", "system:serviceaccount:lab:agent"),))

    groups = user["groups"]
    assert isinstance(groups, list)
    assert "system:serviceaccounts:lab" in groups


@pytest.mark.parametrize(
    ("attributes", "allowed"),
    [
        ({"verb": "list", "resource": "resourceclaims", "namespace": LAB}, True),
        ({"verb": "list", "resource": "resourceclaims"}, False),
        ({"verb": "delete", "resource": "resourceclaims", "namespace": LAB}, False),
        (
            {
                "verb": "list",
                "resource": "resourceclaims",
                "subresource": "status",
                "namespace": LAB,
            },
            False,
        ),
    ],
)
def test_subject_access_review_agrees_with_what_requests_get(
    cluster: Cluster, attributes: JsonObject, allowed: bool
) -> None:
    spec: JsonObject = {"user": "ada", "groups": ["team"], "resourceAttributes": attributes}

    status, answer = ask(
        cluster, a_request("POST", f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
    )

    assert status == 201
    assert inside(answer, "status").raw["allowed"] is allowed


def test_everybody_may_ask_about_themselves(cluster: Cluster) -> None:
    spec: JsonObject = {"resourceAttributes": {"verb": "get", "resource": "nodes"}}
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"

    status, answer = ask(cluster, a_request("POST", path, {"spec": spec}, headers=AS_TEAM))

    assert status == 201
    assert inside(answer, "status").raw["allowed"] is True


def test_rules_review_lists_what_holds_in_the_namespace(cluster: Cluster) -> None:
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    body: JsonObject = {"spec": {"namespace": "elsewhere"}}

    _, answer = ask(cluster, a_request("POST", path, body, headers=AS_TEAM))

    assert inside(answer, "status").raw["resourceRules"] == [
        {"verbs": ["get"], "apiGroups": ["*"], "resources": ["nodes"]}
    ]


@pytest.mark.parametrize(
    ("plural", "spec"),
    [
        ("subjectaccessreviews", {"resourceAttributes": {"verb": "get", "resource": "pods"}}),
        ("subjectaccessreviews", {"user": "ada"}),
        ("selfsubjectaccessreviews", {"resourceAttributes": {"verb": "get"}}),
        ("selfsubjectrulesreviews", {}),
    ],
)
def test_review_that_asks_nothing_is_refused(
    cluster: Cluster, plural: str, spec: JsonObject
) -> None:
    assert ask(cluster, a_request("POST", f"{AUTHORIZATION}/{plural}", {"spec": spec}))[0] == 400


def test_token_review_needs_a_right(cluster: Cluster) -> None:
    token = token_for(cluster, "agent")
    body: JsonObject = {"spec": {"token": token}}
    path = f"{AUTHENTICATION}/tokenreviews"

    by_agent = ask(cluster, a_request("POST", path, body, headers=bearer(token)))
    reviewer = bearer(token_for(cluster, "reviewer"))
    by_reviewer = ask(cluster, a_request("POST", path, body, headers=reviewer))

    assert (by_agent[0], by_reviewer[0]) == (403, 201)
