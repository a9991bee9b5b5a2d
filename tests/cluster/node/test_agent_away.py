"""The agent is killed, replaced and away, and kubelet and containerd are restarted under it."""

import re

import pytest

from tests.cluster.node.agent import VERSION
from tests.cluster.node.console import AgentNote
from tests.cluster.node.pods import devices_in
from tests.cluster.node.stage import Stage
from tests.cluster.workloads import PODS, eventually

SHOWN_SECONDS = 10
STALE_SECONDS = 30
"""The console takes an agent for away when it has said nothing for 15 s."""

NEWER = "7.1.0"
DEVICES = {"gpu-0", "gpu-1", "gpu-2", "gpu-3"}

DEATHS = [
    pytest.param("before started", "before unpreparing", id="before-its-work"),
    pytest.param("after started", "after unpreparing", id="in-the-middle"),
    pytest.param("after completed", "after unprepared", id="before-its-answer"),
]


@pytest.mark.parametrize(("preparing", "unpreparing"), DEATHS)
def test_a_pod_starts_and_ends_though_the_agent_is_killed_at_it(
    stage: Stage, preparing: str, unpreparing: str
) -> None:
    agent = stage.agent.server
    stage.agent.doom(preparing)
    stage.pod("unlucky")
    eventually(lambda: not agent.is_running)
    assert stage.phase("unlucky") == "Pending"

    agent.start()

    pod = stage.runs("unlucky")
    claim = stage.claim_of("unlucky")
    assert stage.gpus_inside("unlucky") == set(devices_in(claim))
    assert len(stage.files_of(claim)) == 1
    name = claim["metadata"]["name"]
    stage.until_shown(lambda: stage.sight.is_prepared(name), within_seconds=SHOWN_SECONDS)

    stage.agent.doom(unpreparing)
    stage.delete("unlucky")
    eventually(lambda: not agent.is_running)
    # Kubelet keeps the pod until its devices are given back.
    stage.until_shown(
        lambda: stage.sight.phase("unlucky") == "Terminating", within_seconds=SHOWN_SECONDS
    )
    assert stage.cluster.api.get(f"{PODS}/unlucky")["metadata"]["uid"] == pod["metadata"]["uid"]

    agent.start()

    eventually(lambda: not stage.phase("unlucky"))
    assert not stage.files_of(claim)
    stage.until_shown(lambda: stage.sight.holders() == {}, within_seconds=SHOWN_SECONDS)


def test_kubelet_restarts_and_the_slices_come_back_while_the_pod_goes_on(stage: Stage) -> None:
    stage.pod("stays")
    stage.runs("stays")
    stage.until_shown(lambda: stage.sight.holders() != {}, within_seconds=SHOWN_SECONDS)
    before = stage.agent.slices()

    stage.node.kubelet.restart()

    # Kubelet deletes what its node has published, and knows nothing of us until we register.
    eventually(lambda: stage.agent.slices() and stage.agent.slices() != before)
    stage.until_shown(lambda: stage.sight.devices().keys() == DEVICES, within_seconds=SHOWN_SECONDS)
    assert stage.sight.agent(stage.node.name).state == "live"
    assert stage.sight.phase("stays") == "Running"
    assert stage.restarts("stays") == [0]
    stage.pod("later")
    stage.runs("later")
    assert stage.gpus_inside("later") == set(stage.devices_of("later"))


def test_the_slices_of_an_agent_that_is_away_go_and_come_back_with_it(stage: Stage) -> None:
    stage.pod("stays")
    stage.runs("stays")
    claim = stage.claim_of("stays")
    (held,) = devices_in(claim)
    stage.until_shown(lambda: held in stage.sight.holders(), within_seconds=SHOWN_SECONDS)

    stage.agent.server.kill()
    stage.node.kubelet.restart()

    eventually(lambda: not stage.agent.slices())
    stage.until_shown(lambda: not stage.sight.devices(), within_seconds=SHOWN_SECONDS)
    note = eventually(lambda: _agent_if(stage, "stale"), seconds=STALE_SECONDS)
    assert note is not None
    assert re.fullmatch(r"stale \d+ s", note.words), note
    assert "has been silent for" in stage.sight.claim_page(claim["metadata"]["name"])
    # Its claim is not forgotten meanwhile, nor said to be free.
    assert devices_in(stage.sight.claims()[claim["metadata"]["name"]]) == [held]
    assert stage.restarts("stays") == [0]

    stage.agent.server.start()

    stage.until_shown(lambda: stage.sight.devices().keys() == DEVICES, within_seconds=SHOWN_SECONDS)
    assert stage.sight.holders() == {held: {claim["metadata"]["name"]}}
    stage.until_shown(lambda: _agent_if(stage, "live"), within_seconds=SHOWN_SECONDS)
    assert "has been silent for" not in stage.sight.claim_page(claim["metadata"]["name"])


def test_the_agent_is_upgraded_while_pods_run_and_start(stage: Stage) -> None:
    older, newer = stage.agent.server, stage.agent.another(NEWER)
    stage.pod("before")
    stage.runs("before")
    claim = stage.claim_of("before")
    files, slices = stage.files_of(claim), stage.agent.slices()

    # As a DaemonSet with maxSurge does it: for a while there are two.
    newer.start(wait=False)
    try:
        eventually(lambda: "registered with kubelet" in newer.log.read_text())
        stage.pod("between")
        stage.runs("between")
        older.stop()
        stage.until_shown(
            lambda: stage.sight.agent(stage.node.name).version == NEWER,
            within_seconds=STALE_SECONDS,
        )
        stage.pod("after")
        stage.runs("after")

        # The end of the older one's stream is not the end of what kubelet knows of devices.
        eventually(lambda: stage.health_of("between") == {"Healthy"})
        assert stage.agent.slices() == slices
        assert stage.files_of(claim) == files
        assert stage.restarts("before") == stage.restarts("between") == [0]
        stage.delete("before")
        eventually(lambda: not stage.phase("before"))
        assert not stage.files_of(claim)
        held = {*stage.devices_of("between"), *stage.devices_of("after")}
        stage.until_shown(
            lambda: stage.sight.holders().keys() == held, within_seconds=SHOWN_SECONDS
        )
    finally:
        newer.stop()
    # And back: the older one reads what the newer one wrote.
    older.start()
    stage.until_shown(
        lambda: stage.sight.agent(stage.node.name).version == VERSION, within_seconds=STALE_SECONDS
    )
    assert stage.gpus_inside("after") == set(stage.devices_of("after"))


def test_containerd_restarts_and_pods_before_and_after_have_their_gpus(stage: Stage) -> None:
    stage.pod("stays")
    stage.runs("stays")

    stage.node.containerd.restart()

    stage.pod("later")
    stage.runs("later")
    assert stage.restarts("stays") == [0]
    assert stage.gpus_inside("stays") == set(stage.devices_of("stays"))
    assert stage.gpus_inside("later") == set(stage.devices_of("later"))
    shown = {*stage.devices_of("stays"), *stage.devices_of("later")}
    stage.until_shown(lambda: stage.sight.holders().keys() == shown, within_seconds=SHOWN_SECONDS)


def test_the_gpus_of_a_pod_that_was_force_deleted_while_the_agent_was_away_go_to_the_next(
    stage: Stage,
) -> None:
    stage.pod("forced", gpus=4)
    stage.runs("forced")
    claim = stage.claim_of("forced")
    stage.agent.server.kill()

    stage.delete("forced", grace_seconds=0)
    stage.pod("next", gpus=4)

    # For the API the devices are the next pod's, while on the node they are still the first one's.
    name = stage.claim_of("next")["metadata"]["name"]
    eventually(lambda: len(stage.devices_of("next")) == 4)
    stage.until_shown(
        lambda: stage.sight.holders() == {device: {name} for device in DEVICES},
        within_seconds=SHOWN_SECONDS,
    )
    assert stage.files_of(claim)
    assert stage.phase("next") == "Pending"

    stage.agent.server.start()

    stage.runs("next")
    assert stage.gpus_inside("next") == DEVICES
    eventually(lambda: not stage.files_of(claim))
    stage.until_shown(lambda: stage.sight.is_prepared(name), within_seconds=SHOWN_SECONDS)


def _agent_if(stage: Stage, state: str) -> AgentNote | None:
    note = stage.sight.agent(stage.node.name)
    return note if note.state == state else None
