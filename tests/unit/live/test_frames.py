import json
from datetime import UTC, datetime, timedelta

import pytest

from dra_console.live.frames import decode_request, subscribed_frame, telemetry_frame
from dra_console.telemetry.messages import FrameError, Source
from dra_console.telemetry.records import AgentRecord, DeviceRecord, LatestRecord
from dra_console.telemetry.states import NodeState

NOW = datetime(2026, 11, 29, 20, tzinfo=UTC)
TOPIC = "telemetry.1.gpu-01"


def a_state(*, seen_at: datetime = NOW, sample_at: datetime | None = None) -> NodeState:
    return NodeState(
        agent=AgentRecord(
            version="0.1.0",
            source=Source.SIMULATED,
            driver="gpu.nvidia.com",
            pool="gpu-01",
            boot_id="boot",
            connected_at=NOW,
        ),
        latest=LatestRecord(
            driver="gpu.nvidia.com",
            pool="gpu-01",
            taken_at=NOW,
            received_at=sample_at or seen_at,
            devices=(
                DeviceRecord(
                    device="gpu-0",
                    utilisation_percent=97,
                    memory_used_bytes=1,
                    memory_total_bytes=2,
                    power_milliwatts=None,
                    temperature_celsius=60,
                    sm_clock_megahertz=1980,
                    health="unhealthy: Xid 79",
                ),
            ),
        ),
        last_seen_at=seen_at,
    )


def test_telemetry_frame_holds_whole_values_and_the_agent_s_age() -> None:
    text = telemetry_frame(TOPIC, a_state(), seq=5, now=NOW + timedelta(seconds=0.4))

    assert json.loads(text) == {
        "topic": TOPIC,
        "seq": 5,
        "driver": "gpu.nvidia.com",
        "pool": "gpu-01",
        "source": "simulated",
        "agent_seen_seconds_ago": 0.4,
        "sample_seconds_ago": 0.4,
        "devices": {
            "gpu-0": {
                "utilisation_percent": 97,
                "memory_used_bytes": 1,
                "memory_total_bytes": 2,
                "power_milliwatts": None,
                "temperature_celsius": 60,
                "sm_clock_megahertz": 1980,
                "health": "unhealthy: Xid 79",
                "stale": False,
            }
        },
    }


def test_silent_agent_s_last_values_stay_and_are_marked_stale() -> None:
    frame = json.loads(telemetry_frame(TOPIC, a_state(), seq=1, now=NOW + timedelta(seconds=41)))

    assert frame["agent_seen_seconds_ago"] == 41
    assert frame["devices"]["gpu-0"]["utilisation_percent"] == 97
    assert frame["devices"]["gpu-0"]["stale"] is True


def test_readings_are_stale_when_an_agent_speaks_but_samples_no_more() -> None:
    state = a_state(seen_at=NOW + timedelta(seconds=40), sample_at=NOW)
    frame = json.loads(telemetry_frame(TOPIC, state, seq=1, now=NOW + timedelta(seconds=41)))

    assert (frame["agent_seen_seconds_ago"], frame["sample_seconds_ago"]) == (1, 41)
    assert frame["devices"]["gpu-0"]["stale"] is True


def test_node_that_never_had_an_agent_has_no_devices() -> None:
    silent = NodeState(agent=None, latest=None, last_seen_at=None)
    frame = json.loads(telemetry_frame(TOPIC, silent, seq=1, now=NOW))

    assert (frame["devices"], frame["agent_seen_seconds_ago"]) == ({}, None)


def test_answer_lists_what_is_subscribed_and_what_is_refused() -> None:
    text = subscribed_frame(
        subscribed=["devices.1"],
        refused=["claim.1.b", "claim.1.a"],
        changed_seconds_ago={"devices.1": 0.5},
    )

    assert json.loads(text) == {
        "subscribed": ["devices.1"],
        "refused": ["claim.1.a", "claim.1.b"],
        "changed_seconds_ago": {"devices.1": 0.5},
    }


def test_request_may_leave_out_either_list() -> None:
    assert decode_request('{"subscribe":["devices.1"]}').unsubscribe == ()
    assert decode_request('{"unsubscribe":["devices.1"]}').subscribe == ()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"subscribe":"devices.1"}', '{"subscribe":[1]}', '{"delete":["gpu"]}']
)
def test_anything_but_a_request_for_topics_is_refused(text: str) -> None:
    with pytest.raises(FrameError, match="expected a request for topics"):
        decode_request(text)
