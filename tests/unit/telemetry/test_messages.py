import copy
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from dra_console.telemetry.messages import (
    FRAME_BYTES_LIMIT,
    Claims,
    FrameError,
    Hello,
    PreparedState,
    Sample,
    Source,
    decode_frame,
    encode_welcome,
)
from tests.builders.frames import (
    a_device_sample,
    a_hello,
    a_node_claim,
    a_sample,
    as_text,
    claims_frame,
)


def test_hello_says_who_speaks() -> None:
    frame = decode_frame(as_text(a_hello("gpu-02", source="nvml")))

    assert isinstance(frame, Hello)
    assert (frame.node, frame.source, frame.pool) == ("gpu-02", Source.NVML, "gpu-02")


def test_sample_carries_readings_in_their_units() -> None:
    frame = decode_frame(
        as_text(a_sample(7, a_device_sample("gpu-3", utilisation_percent=97, power_milliwatts=3)))
    )

    assert isinstance(frame, Sample)
    assert (frame.seq, frame.taken_at) == (7, datetime(2026, 11, 29, 20, tzinfo=UTC))
    assert frame.devices[0].device == "gpu-3"
    assert (frame.devices[0].utilisation_percent, frame.devices[0].power_milliwatts) == (97, 3)


@pytest.mark.parametrize("readings", [{}, {"utilisation_percent": None}])
def test_reading_that_is_absent_or_null_is_not_reported(readings: JsonObject) -> None:
    frame = decode_frame(as_text(a_sample(1, a_device_sample("gpu-0", **readings))))

    assert isinstance(frame, Sample)
    assert frame.devices[0].utilisation_percent is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("utilisation_percent", 0x7FFFFFF0),
        ("power_milliwatts", 2**32 - 1),
        ("temperature_celsius", 2**64 - 1),
        ("memory_used_bytes", 0x7FFFFFFFFFFFFFF0),
        ("memory_total_bytes", 2**64 - 1),
    ],
)
def test_a_library_s_word_for_not_available_is_not_reported(name: str, value: int) -> None:
    frame = decode_frame(as_text(a_sample(1, a_device_sample("gpu-0", **{name: value}))))

    assert isinstance(frame, Sample)
    assert getattr(frame.devices[0], name) is None


@pytest.mark.parametrize(
    ("health", "path"),
    [
        ({"status": "fine"}, "devices[0].health.status"),
        ({"status": "healthy", "message": "n\u00e9"}, "devices[0].health.message"),
        ({"status": "healthy", "message": "x" * 301}, "devices[0].health.message"),
    ],
)
def test_health_is_one_of_three_words_and_a_short_printable_reason(
    health: JsonObject, path: str
) -> None:
    with pytest.raises(FrameError) as refused:
        decode_frame(as_text(a_sample(1, a_device_sample(health=health))))

    assert refused.value.path == path


def test_two_gibibytes_are_a_reading_though_they_look_like_a_32_bit_blank() -> None:
    frame = decode_frame(as_text(a_sample(1, a_device_sample(memory_used_bytes=0x7FFFFFF0))))

    assert isinstance(frame, Sample)
    assert frame.devices[0].memory_used_bytes == 0x7FFFFFF0


def test_claims_are_the_complete_list_of_what_the_node_holds() -> None:
    frame = decode_frame(as_text(claims_frame(3, a_node_claim("c-1", "gpu-0", "gpu-1"))))

    assert isinstance(frame, Claims)
    (claim,) = frame.claims
    assert (claim.uid, claim.state) == ("c-1", PreparedState.PREPARED)
    assert [device.cdi_ids for device in claim.devices] == [
        ("k8s.gpu.nvidia.com/claim=c-1-gpu-0",),
        ("k8s.gpu.nvidia.com/claim=c-1-gpu-1",),
    ]


def test_field_that_a_newer_agent_adds_is_ignored() -> None:
    assert isinstance(decode_frame(as_text(a_hello(colour="green"))), Hello)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([], "expected `object`, got `array`"),
        ({}, "type: expected a value, got none"),
        ({"type": "bye"}, "type: invalid value 'bye'"),
        (a_hello(v=2), "v: expected 1, got 2"),
        (a_hello(node="GPU_01"), "node: expected `str` matching regex"),
        (a_hello(node="gpu-01\n"), "node: expected `str` matching regex"),
        (a_hello(source="guessed"), "source: invalid enum value 'guessed'"),
        (a_sample(0), "seq: expected `int` >= 1"),
        (a_sample(1, taken_at="yesterday"), "taken_at: invalid RFC3339 encoded datetime"),
        (a_sample(1, taken_at="0001-01-01T00:00:00+10:00"), "taken_at: expected a time between"),
        (
            a_sample(1, a_device_sample(), a_device_sample("gpu-1", utilisation_percent=101)),
            "devices[1].utilisation_percent: expected 0 to 100, got 101",
        ),
        (
            a_sample(1, a_device_sample(memory_used_bytes=-1)),
            "devices[0].memory_used_bytes: expected `int` >= 0",
        ),
        (
            a_sample(1, a_device_sample(utilisation_percent=97.5)),
            "devices[0].utilisation_percent: expected `int | null`, got `float`",
        ),
        (
            a_sample(1, a_device_sample(), a_device_sample()),
            "devices[1].device: 'gpu-0' is given twice",
        ),
        (
            claims_frame(1, a_node_claim(prepared_at=None)),
            "claims[0].prepared_at: expected a time, since state is prepared",
        ),
        (
            claims_frame(1, a_node_claim(state="prepred")),
            "claims[0].state: invalid enum value 'prepred'",
        ),
        (
            claims_frame(1, a_node_claim(devices=[{"pool": "gpu-01"}])),
            "claims[0].devices[0].device: expected a value, got none",
        ),
    ],
)
def test_broken_frame_is_refused_with_the_field_and_what_was_expected(
    frame: Json, message: str
) -> None:
    with pytest.raises(FrameError) as refused:
        decode_frame(as_text(frame))

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", '{"type":"sample","seq":NaN}', "[" * 100_000, "\ud800"]
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(FrameError):
        decode_frame(text)


def test_frame_over_a_mebibyte_is_refused_unread() -> None:
    with pytest.raises(FrameError, match="expected at most 1048576 bytes"):
        decode_frame(" " * (FRAME_BYTES_LIMIT + 1))


def test_welcome_says_how_often_to_sample() -> None:
    assert json.loads(encode_welcome()) == {
        "type": "welcome",
        "v": 1,
        "sample_interval_seconds": 1,
    }


VALID_FRAMES = [
    a_hello(),
    a_sample(1, a_device_sample(utilisation_percent=1), a_device_sample("gpu-1")),
    claims_frame(1, a_node_claim("c-1"), a_node_claim("c-2", "gpu-1")),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def spoilt_frames(draw: st.DrawFn) -> Json:
    """A valid frame in which one value, at any depth, is another one."""
    frame: Json = copy.deepcopy(draw(st.sampled_from(VALID_FRAMES)))
    spoilt = frame
    while isinstance(spoilt, dict | list) and spoilt:
        keys = list(spoilt) if isinstance(spoilt, dict) else list(range(len(spoilt)))
        key = draw(st.sampled_from(keys))
        inner = spoilt[key]  # type: ignore[index,call-overload]  # the key comes from this container
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            spoilt[key] = draw(json_values)  # type: ignore[index,call-overload]  # as above
            break
        spoilt = inner
    return frame


@given(st.text() | json_values.map(json.dumps) | spoilt_frames().map(json.dumps))
def test_any_text_is_a_frame_or_a_frame_error(text: str) -> None:
    try:
        frame = decode_frame(text)
    except FrameError:
        return
    assert isinstance(frame, Hello | Sample | Claims)


def test_details_come_beside_the_readings_and_what_is_absent_is_not_reported() -> None:
    told: JsonObject = {
        "fan_percent": 30,
        "clock_limits": ["power-cap"],
        "energy_millijoules": 2**64 - 1,
    }
    frame = decode_frame(as_text(a_sample(1, a_device_sample("gpu-0", details=told))))

    assert isinstance(frame, Sample)
    details = frame.devices[0].details
    assert details is not None
    assert (details.fan_percent, details.clock_limits) == (30, ("power-cap",))
    assert (details.energy_millijoules, details.encoder_percent, details.processes) == (None,) * 3


@pytest.mark.parametrize(
    ("details", "path"),
    [
        ({"encoder_percent": 101}, "devices[0].details.encoder_percent"),
        ({"performance_state": -1}, "devices[0].details.performance_state"),
        ({"clock_limits": ["<b>"]}, "devices[0].details.clock_limits[0]"),
        ({"recovery_action": "x" * 41}, "devices[0].details.recovery_action"),
        ({"processes": [{"pid": 0}]}, "devices[0].details.processes[0].pid"),
        ({"processes": [{"pid": 1}] * 65}, "devices[0].details.processes"),
        (
            {"processes": [{"pid": 1, "memory_used_bytes": -1}]},
            "devices[0].details.processes[0].memory_used_bytes",
        ),
    ],
)
def test_details_out_of_bounds_are_refused_by_their_path(details: JsonObject, path: str) -> None:
    with pytest.raises(FrameError) as refused:
        decode_frame(as_text(a_sample(1, a_device_sample("gpu-0", details=details))))

    assert refused.value.path == path
