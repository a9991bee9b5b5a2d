"""Sentences of Events."""

from dra_console.scheduling.writing import remarks
from tests.builders.objects import a_result, an_allocated_claim


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
