"""An error of a GPU: in the status of its pod, in the slice, and in the console."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.node.pods import devices_in
from tests.cluster.node.stage import Stage
from tests.cluster.workloads import eventually

OFF_THE_BUS = 79
HEARD_SECONDS = 20
"""Kubelet is told at once and writes the pod's status when it next looks at the pod."""


@pytest.fixture
def healthy_again(stage: Stage) -> Iterator[None]:
    yield
    # As a reboot would, but for the node: errors and what was made of them are forgotten.
    stage.agent.server.stop()
    stage.agent.faults.unlink(missing_ok=True)
    (stage.agent.plugin_directory / "health.json").unlink(missing_ok=True)
    stage.agent.server.start()
    eventually(lambda: not any(each["taints"] for each in stage.sight.devices().values()))


@pytest.mark.usefixtures("healthy_again")
def test_an_error_of_a_gpu_reaches_the_status_of_its_pod_and_keeps_others_away(
    stage: Stage,
) -> None:
    stage.pod("ill")
    stage.runs("ill")
    (sick,) = devices_in(stage.claim_of("ill"))
    eventually(lambda: stage.health_of("ill") == {"Healthy"})

    errors = [{"gpu": sick, "xid": OFF_THE_BUS}]
    stage.agent.faults.write_text(json.dumps({"xids": errors}))

    stage.until_shown(lambda: stage.sight.devices()[sick]["taints"], within_seconds=HEARD_SECONDS)
    eventually(lambda: stage.health_of("ill") == {"Unhealthy"})
    assert stage.phase("ill") == "Running"

    # Three GPUs are left for those who come now.
    stage.pod("well", gpus=3)
    stage.runs("well")
    assert sick not in stage.devices_of("well")
