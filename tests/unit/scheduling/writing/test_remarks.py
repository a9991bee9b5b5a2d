"""Sentences of Events."""

from dra_console.scheduling.writing import remarks
from tests.builders.objects import a_result, an_allocated_claim


def test_reasons_of_nodes_are_folded_as_kube_scheduler_folds_them() -> None:
    reasons = ["cannot allocate all claims", "the node is cordoned", "cannot allocate all claims"]

    assert remarks.no_nodes(reasons, detail="All GPUs are held.") == (
        "0/3 nodes are available: 1 the node is cordoned, 2 cannot allocate all claims."
        " All GPUs are held."
    )


def test_a_cluster_without_nodes_is_said_to_have_none() -> None:
    assert remarks.no_nodes([]) == "0/0 nodes are available."


def test_a_long_message_is_cut_to_what_an_event_takes() -> None:
    pod = remarks.pod_named("team", "train", "uid")

    message = remarks.failed_scheduling(pod, "x" * 2000).message

    assert len(message) == 1024
    assert message.endswith("x ...")


def test_a_claim_that_is_reserved_ahead_names_its_devices() -> None:
    claim = an_allocated_claim("held", results=[a_result("gpu-0"), a_result("gpu-1")])

    assert remarks.reserved_ahead(claim).message == (
        "Reserved ahead of pods: gpu.nvidia.com/gpu-01/gpu-0, gpu.nvidia.com/gpu-01/gpu-1"
    )
