import pytest

from dra_console.events import attempts_topic, claim_topic, claims_topic, devices_topic
from dra_console.live.topics import Topic, TopicKind, parse_topic


def test_topics_are_taken_apart_as_the_rest_of_the_console_spells_them() -> None:
    assert parse_topic(devices_topic(3)) == Topic(TopicKind.DEVICES, 3, "")
    assert parse_topic(claims_topic(3)) == Topic(TopicKind.CLAIMS, 3, "")
    assert parse_topic(attempts_topic(3)) == Topic(TopicKind.ATTEMPTS, 3, "")
    assert parse_topic(claim_topic(3, "0b-1c")) == Topic(TopicKind.CLAIM, 3, "0b-1c")


def test_node_name_in_a_telemetry_topic_may_hold_dots() -> None:
    topic = parse_topic("telemetry.1.gpu-01.example.org")

    assert topic == Topic(TopicKind.TELEMETRY, 1, "gpu-01.example.org")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "devices",
        "devices.",
        "devices.one",
        "devices.1.x",
        "claim.1",
        "claim.1.",
        "claim.1.a.b",
        "telemetry.1.",
        "telemetry.1.GPU",
        "session.1",
        "devices.1\n",
        "devices.٣",
        "devices.9999999999999999999",
    ],
)
def test_anything_else_is_no_topic(text: str) -> None:
    assert parse_topic(text) is None
