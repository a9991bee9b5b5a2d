import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import User
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.kube.reviews import TokenIdentity, review_token, subject_access
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status


def a_token_review(**status: object) -> Answer:
    body: JsonObject = {"kind": "TokenReview"}
    body["status"] = dict(status)  # type: ignore[arg-type]  # plain JSON values
    return Answer(body)


def test_a_right_is_asked_for_one_user_and_one_act(server: ScriptedServer) -> None:
    server.will_answer(Answer({"status": {"allowed": True}}))

    assert subject_access(
        server.client(),
        user=User("researcher", groups=("team-research",)),
        verb="create",
        kind=RESOURCE_CLAIMS,
        namespace="team-research",
    )
    [asked] = server.asked
    assert isinstance(asked.body, dict)
    assert asked.path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert asked.body["spec"] == {
        "user": "researcher",
        "groups": ["team-research"],
        "resourceAttributes": {
            "group": "resource.k8s.io",
            "version": "*",
            "resource": "resourceclaims",
            "verb": "create",
            "namespace": "team-research",
        },
    }


@pytest.mark.parametrize("status", [{"allowed": False}, {"allowed": "true"}, {}])
def test_whatever_is_not_allowed_outright_is_refused(
    server: ScriptedServer, status: JsonObject
) -> None:
    server.will_answer(Answer({"status": status}))

    assert not subject_access(
        server.client(), user=User("researcher"), verb="get", kind=RESOURCE_CLAIMS
    )


def test_a_review_that_was_not_answered_is_an_error_and_no_right(server: ScriptedServer) -> None:
    server.will_answer(Answer(a_status(403, "may not ask"), status=403))

    with pytest.raises(ApiError, match="may not ask"):
        subject_access(server.client(), user=User("x"), verb="get", kind=RESOURCE_CLAIMS)


def test_a_token_says_whose_it_is_and_on_which_node(server: ScriptedServer) -> None:
    server.will_answer(
        a_token_review(
            authenticated=True,
            audiences=["dra-console"],
            user={
                "username": "system:serviceaccount:dra:agent",
                "groups": ["system:serviceaccounts"],
                "extra": {"authentication.kubernetes.io/node-name": ["gpu-01"]},
            },
        )
    )

    identity = review_token(server.client(), "secret", audience="dra-console")

    assert identity == TokenIdentity(
        "system:serviceaccount:dra:agent", ("system:serviceaccounts",), "gpu-01"
    )
    assert isinstance(server.asked[0].body, dict)
    assert server.asked[0].body["spec"] == {"token": "secret", "audiences": ["dra-console"]}


def test_a_token_bound_to_no_pod_names_no_node(server: ScriptedServer) -> None:
    server.will_answer(
        a_token_review(authenticated=True, audiences=["dra-console"], user={"username": "somebody"})
    )

    identity = review_token(server.client(), "secret", audience="dra-console")

    assert identity == TokenIdentity("somebody", (), "")


@pytest.mark.parametrize(
    "status",
    [
        {"authenticated": False},
        {"authenticated": True, "user": {"username": "x"}},
        {"authenticated": True, "audiences": ["another"], "user": {"username": "x"}},
        {"authenticated": True, "audiences": ["dra-console"]},
    ],
)
def test_a_token_that_is_nobodys_or_not_for_us_identifies_nobody(
    server: ScriptedServer, status: dict[str, object]
) -> None:
    server.will_answer(a_token_review(**status))

    assert review_token(server.client(), "secret", audience="dra-console") is None
