from dra_console.kube.kinds import BY_PLURAL, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES


def test_a_core_kind_has_no_group_in_its_version_and_path() -> None:
    assert PODS.api_version == "v1"
    assert PODS.path("lab", "train") == "/api/v1/namespaces/lab/pods/train"
    assert NODES.path(name="gpu-01") == "/api/v1/nodes/gpu-01"


def test_a_kind_of_a_group_is_served_under_apis() -> None:
    assert RESOURCE_CLAIMS.api_version == "resource.k8s.io/v1"
    assert (
        RESOURCE_CLAIMS.path("lab", "train", "status")
        == "/apis/resource.k8s.io/v1/namespaces/lab/resourceclaims/train/status"
    )


def test_without_a_namespace_the_path_spans_all_of_them() -> None:
    assert RESOURCE_CLAIMS.path() == "/apis/resource.k8s.io/v1/resourceclaims"


def test_a_cluster_scoped_kind_ignores_a_namespace() -> None:
    assert RESOURCE_SLICES.path("lab") == "/apis/resource.k8s.io/v1/resourceslices"


def test_names_cannot_leave_their_place_in_the_path() -> None:
    assert PODS.path("lab", "../secrets/x") == "/api/v1/namespaces/lab/pods/..%2Fsecrets%2Fx"


def test_kinds_are_found_by_plural() -> None:
    assert BY_PLURAL["resourceclaims"] is RESOURCE_CLAIMS
