import pytest

from nodeagent.fields import FieldError
from nodeagent.kube.rights import needed_rule
from nodeagent.kube.server_version import ServerVersion


@pytest.mark.parametrize(
    ("git_version", "minor"),
    [
        ("v1.37.2", (1, 37)),
        ("v1.35.0-gke.1", (1, 35)),
        ("v1.34.99-eks-abcdef", (1, 34)),
        ("v1.35.0-alpha.1+dirty", (1, 35)),
        ("1.33", (1, 33)),
        ("devcluster", None),
        ("v1", None),
    ],
)
def test_versions_of_providers_are_compared_by_major_and_minor_alone(
    git_version: str, minor: tuple[int, int] | None
) -> None:
    version = ServerVersion.of({"gitVersion": git_version})

    assert (version.git_version, version.minor) == (git_version, minor)


def test_an_answer_without_a_version_is_an_error() -> None:
    with pytest.raises(FieldError, match="gitVersion"):
        ServerVersion.of({"major": "1"})


@pytest.mark.parametrize(
    ("method", "path", "rule"),
    [
        (
            "POST",
            "/apis/resource.k8s.io/v1/resourceslices?dryRun=All",
            ("resource.k8s.io", "resourceslices", "create"),
        ),
        (
            "PUT",
            "/apis/resource.k8s.io/v1beta1/resourceslices/s",
            ("resource.k8s.io", "resourceslices", "update"),
        ),
        ("DELETE", "/apis/g.io/v1/things/x", ("g.io", "things", "delete")),
        (
            "GET",
            "/apis/resource.k8s.io/v1/resourceslices",
            ("resource.k8s.io", "resourceslices", "list"),
        ),
        (
            "GET",
            "/apis/resource.k8s.io/v1/resourceslices?watch=true",
            ("resource.k8s.io", "resourceslices", "watch"),
        ),
        (
            "GET",
            "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c",
            ("resource.k8s.io", "resourceclaims", "get"),
        ),
        (
            "PATCH",
            "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status",
            ("resource.k8s.io", "resourceclaims/status", "patch"),
        ),
        ("GET", "/api/v1/nodes/gpu-01", ("", "nodes", "get")),
        ("POST", "/api/v1/namespaces/default/events", ("", "events", "create")),
    ],
)
def test_a_refused_request_names_the_rule_that_it_needs(
    method: str, path: str, rule: tuple[str, str, str]
) -> None:
    group, resource, verb = rule

    assert (
        needed_rule(method, path)
        == f'apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]'
    )


def test_what_is_no_resource_needs_no_rule_of_ours() -> None:
    assert needed_rule("GET", "/version") is None
    assert needed_rule("GET", "/apis/resource.k8s.io") is None
