from dra_console.allocator.model import Json, JsonObject
from dra_console.sync.columns import (
    claim_columns,
    claim_names_of,
    is_pod_mirrored,
    node_columns,
    slice_columns,
)
from dra_console.sync.reading import object_in
from tests.builders.objects import (
    a_claim,
    a_node,
    a_node_selector,
    a_pod,
    a_prioritized_request,
    a_request,
    a_slice,
    a_wish,
    an_allocated_claim,
)


def with_metadata(subject: JsonObject, **fields: Json) -> JsonObject:
    return {**subject, "metadata": object_in(subject, "metadata") | fields}


def test_a_claim_without_allocation_is_pending() -> None:
    columns = claim_columns(a_claim())

    assert (columns["state"], columns["allocation"], columns["node_name"]) == ("pending", None, "")


def test_an_allocated_claim_is_reserved_once_somebody_uses_it() -> None:
    assert claim_columns(an_allocated_claim())["state"] == "allocated"
    assert claim_columns(an_allocated_claim(pods=("train",)))["state"] == "reserved"


def test_a_claim_that_is_going_is_deleting_whatever_it_holds() -> None:
    claim = with_metadata(an_allocated_claim(), deletionTimestamp="2026-11-29T20:00:00Z")

    assert claim_columns(claim)["state"] == "deleting"


def test_an_allocation_without_devices_is_an_allocation() -> None:
    assert claim_columns(a_claim(requests=[], status={"allocation": {}}))["state"] == "allocated"


def test_the_node_is_read_from_an_allocation_that_pins_one() -> None:
    assert claim_columns(an_allocated_claim(node="gpu-02"))["node_name"] == "gpu-02"


def test_an_allocation_for_several_nodes_names_none() -> None:
    selector = a_node_selector("gpu-01")
    selector["nodeSelectorTerms"] = [
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["gpu-01", "gpu-02"]}
            ]
        }
    ]
    claim = a_claim(status={"allocation": {"devices": {}, "nodeSelector": selector}})

    assert claim_columns(claim)["node_name"] == ""


def test_classes_are_named_once_in_the_order_of_the_requests() -> None:
    claim = a_claim(
        requests=[
            a_request("a", device_class="b-class"),
            a_prioritized_request(
                "c",
                best=a_wish(device_class="a-class"),
                other=a_wish(device_class="b-class"),
            ),
        ]
    )

    assert claim_columns(claim)["class_names"] == ["b-class", "a-class"]


def test_the_owner_of_a_generated_claim_is_its_pod() -> None:
    owners: list[Json] = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PodGroup", "name": "group", "uid": "1"},
        {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": "2", "controller": True},
    ]

    assert claim_columns(with_metadata(a_claim(), ownerReferences=owners))["owner_pod"] == "train"


def test_a_pod_names_the_claim_that_was_generated_for_it_once_it_exists() -> None:
    pod = a_pod(template="one-gpu")
    assert claim_names_of(pod) == {}

    pod["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "train-x"}]}
    assert claim_names_of(pod) == {"gpu": "train-x"}


def test_pods_that_name_claims_or_the_console_have_rows_of_their_own() -> None:
    assert not is_pod_mirrored(a_pod(scheduler="default-scheduler"))
    assert is_pod_mirrored(a_pod(scheduler="default-scheduler", claim="shared"))
    assert is_pod_mirrored(a_pod(scheduler="dra-console"))


def test_a_node_without_a_ready_condition_is_neither_ready_nor_not() -> None:
    assert node_columns(a_node())["ready"] is None


def test_a_node_whose_kubelet_went_silent_is_not_known_to_be_ready() -> None:
    status: Json = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    node = {**a_node(), "status": status}

    assert node_columns(node)["ready"] is None


def test_a_slice_names_its_pool_and_generation() -> None:
    columns = slice_columns(a_slice(pool="gpu-01", generation=7, slice_count=3))

    assert (columns["pool"], columns["pool_generation"], columns["pool_slice_count"]) == (
        "gpu-01",
        7,
        3,
    )


def test_fields_of_another_kind_are_absent_and_harm_nothing_else() -> None:
    claim: JsonObject = {
        **a_claim(),
        "spec": {"devices": {"requests": [7, {"exactly": "all"}, a_request()]}},
        "status": {"allocation": [], "reservedFor": {"a": 1}},
    }

    columns = claim_columns(claim)

    assert (columns["state"], columns["class_names"]) == ("pending", ["gpu.nvidia.com"])
