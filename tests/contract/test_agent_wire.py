"""Both halves of the live wire, version 1, against the same golden frames."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from dra_console.telemetry.messages import Claims, Hello, decode_frame, encode_welcome
from dra_console.telemetry.messages import Sample as ConsoleSample
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.devices.details import Details, DeviceProcess
from nodeagent.devices.events import RecoveryAction
from nodeagent.devices.model import Reading, Source
from nodeagent.fields import FieldError
from nodeagent.health.report import DeviceHealth, HealthReport, Status
from nodeagent.telemetry.details import PROCESSES_TOLD
from nodeagent.telemetry.messages import (
    Identity,
    Naming,
    Sample,
    decode_welcome,
    encode_claims,
    encode_hello,
    encode_sample,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "v1"
NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
GPU_0 = "GPU-93e495c5-2453-5663-a28a-e22d21ace816"
CLAIM = "77777777-0000-4000-8000-000000000063"
OTHER = "88888888-0000-4000-8000-000000000001"

READINGS = (
    Reading(
        device="gpu-0",
        uuid=GPU_0,
        utilisation_percent=97,
        memory_used_bytes=68719476736,
        memory_total_bytes=85520809984,
        power_milliwatts=612345,
        temperature_celsius=60,
        sm_clock_megahertz=1980,
        process_count=3,
    ),
    Reading(
        device="gpu-1",
        uuid="GPU-6b5f1c4e-0000-4000-8000-000000000000",
        utilisation_percent=0,
        memory_used_bytes=0,
    ),
    Reading(device="gpu-0-mig-1g5gb-19-2", uuid="MIG-0a2ab4e8-55a6-5f43-8a5b-1d2c3b4a5e6f"),
)
DETAILS = {
    "gpu-0": Details(
        device="gpu-0",
        memory_reserved_bytes=612_000_000,
        memory_controller_percent=41,
        encoder_percent=0,
        decoder_percent=7,
        bar1_used_bytes=3_145_728,
        bar1_total_bytes=137_438_953_472,
        power_limit_milliwatts=700_000,
        energy_millijoules=5_000_000_000,
        memory_temperature_celsius=71,
        slowdown_temperature_celsius=92,
        graphics_clock_megahertz=1980,
        memory_clock_megahertz=2619,
        video_clock_megahertz=1545,
        sm_clock_limit_megahertz=1980,
        clock_limits=("power-cap",),
        performance_state=0,
        fan_percent=30,
        ecc_corrected_errors=2,
        ecc_uncorrected_errors=0,
        ecc_corrected_errors_ever=17,
        ecc_uncorrected_errors_ever=1,
        remapped_rows_corrected=1,
        remapped_rows_uncorrected=0,
        is_row_remap_pending=False,
        has_row_remap_failed=False,
        has_retired_pages_pending=False,
        pcie_generation=5,
        pcie_lanes=16,
        pcie_replays=0,
        recovery_action=RecoveryAction.GPU_RESET,
        process_count=3,
        processes=(
            DeviceProcess(
                pid=4211,
                memory_used_bytes=68_000_000_000,
                pod_uid="0a1b2c3d-0000-4000-8000-00000000000a",
                container_id="c" * 64,
            ),
            DeviceProcess(pid=17),
        ),
    ),
    "gpu-1": Details(device="gpu-1", clock_limits=(), process_count=0, processes=()),
}
REPORT = HealthReport(
    (
        DeviceHealth(device="gpu-0", status=Status.HEALTHY, message="", since=NOW),
        DeviceHealth(
            device="gpu-2",
            status=Status.UNHEALTHY,
            message="the GPU has fallen off the bus",
            since=NOW,
        ),
        # Well or unknown without a reading, as a partition that nobody has: not worth a word.
        DeviceHealth(device="gpu-3", status=Status.UNKNOWN, message="", since=NOW),
    )
)
ENTRIES = (
    Entry(
        uid=OTHER,
        namespace="team-vision",
        name="notebook",
        state=State.STARTED,
        resource_version="9",
        changed_at=NOW,
        devices=(
            PlannedDevice(
                requests=(),
                pool="gpu-01",
                device="gpu-1",
                cdi_name=f"{OTHER}-gpu-1",
                parent_uuid=None,
                uuid=None,
            ),
        ),
    ),
    Entry(
        uid=CLAIM,
        namespace="team-research",
        name="train",
        state=State.COMPLETED,
        resource_version="7",
        changed_at=NOW.astimezone(timezone(timedelta(hours=2))),
        devices=(
            PlannedDevice(
                requests=("gpu",),
                pool="gpu-01",
                device="gpu-0",
                cdi_name=f"{CLAIM}-gpu-0",
                parent_uuid=GPU_0,
                uuid=GPU_0,
            ),
        ),
    ),
)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.json").read_text()


def agents_frames() -> dict[str, str]:
    identity = Identity(
        node_name="gpu-01",
        driver="gpu.nvidia.com",
        pool="gpu-01",
        source=Source.SIMULATED,
        boot_id="5f0c1c44-8f63-4f0e-9a1d-6d7d8a1c2b3e",
    )
    observer = replace(identity, source=Source.NVML, naming=Naming.UUID)
    return {
        "hello": encode_hello(identity),
        "hello-observer": encode_hello(observer),
        "sample": encode_sample(Sample(NOW, READINGS, DETAILS), seq=1, report=REPORT),
        "claims": encode_claims(ENTRIES, driver="gpu.nvidia.com", seq=2),
        "claims-none": encode_claims((), driver="gpu.nvidia.com", seq=7),
    }


def test_every_golden_frame_is_checked() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*agents_frames(), "welcome"}


@pytest.mark.parametrize("name", ["hello", "hello-observer", "sample", "claims", "claims-none"])
def test_the_agent_writes_the_golden_frame(name: str) -> None:
    assert json.loads(agents_frames()[name]) == json.loads(golden(name))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hello", Hello),
        ("hello-observer", Hello),
        ("sample", ConsoleSample),
        ("claims", Claims),
        ("claims-none", Claims),
    ],
)
def test_the_console_reads_the_golden_frame(name: str, kind: type) -> None:
    assert isinstance(decode_frame(golden(name)), kind)


def test_the_console_sees_what_was_not_reported_as_not_reported() -> None:
    frame = decode_frame(golden("sample"))

    assert isinstance(frame, ConsoleSample)
    assert [device.utilisation_percent for device in frame.devices] == [97, 0, None, None]
    assert [device.health and str(device.health) for device in frame.devices] == [
        "healthy",
        None,
        None,
        "unhealthy: the GPU has fallen off the bus",
    ]
    assert frame.devices[1].power_milliwatts is None


def test_the_console_sees_the_details_as_they_were_looked_at() -> None:
    frame = decode_frame(golden("sample"))

    assert isinstance(frame, ConsoleSample)
    told = [device.details for device in frame.devices]
    for name in [one.name for one in fields(Details) if one.name not in {"device", "processes"}]:
        its = getattr(DETAILS["gpu-0"], name)
        expected = "gpu-reset" if name == "recovery_action" else its
        assert getattr(told[0], name) == expected, name
    assert told[0] is not None
    assert told[0].processes is not None
    assert [
        (one.pid, one.memory_used_bytes, one.pod_uid, one.container_id) for one in told[0].processes
    ] == [
        (one.pid, one.memory_used_bytes, one.pod_uid, one.container_id)
        for one in DETAILS["gpu-0"].processes or ()
    ]
    assert told[1] is not None
    assert (told[1].clock_limits, told[1].process_count, told[1].fan_percent) == ((), 0, None)
    assert told[2:] == [None, None]


def test_the_console_takes_an_older_agents_sample_and_has_no_details_of_it() -> None:
    older = json.loads(golden("sample"))
    for device in older["devices"]:
        device.pop("details", None)

    frame = decode_frame(json.dumps(older))

    assert isinstance(frame, ConsoleSample)
    assert [device.details for device in frame.devices] == [None] * 4


def test_a_sample_for_an_older_console_differs_only_by_a_field_that_it_ignores() -> None:
    def without_details(frame: str) -> list[dict[str, Any]]:
        devices: list[dict[str, Any]] = json.loads(frame)["devices"]
        return [{k: v for k, v in device.items() if k != "details"} for device in devices]

    plain = encode_sample(Sample(NOW, READINGS), seq=1, report=REPORT)
    newer = json.loads(golden("sample"))
    newer["devices"][0]["a_field_of_tomorrow"] = {"any": "thing"}

    assert without_details(golden("sample")) == json.loads(plain)["devices"]
    assert decode_frame(json.dumps(newer)) == decode_frame(golden("sample"))


def test_both_halves_agree_on_the_welcome() -> None:
    assert json.loads(encode_welcome()) == json.loads(golden("welcome"))
    assert decode_welcome(encode_welcome()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": 2}, "expected welcome of version 1, got welcome of 2"),
        ({"type": "goodbye"}, "got goodbye of 1"),
        ({"sample_interval_seconds": 0}, "expected more than 0, got 0"),
        ({"sample_interval_seconds": "1"}, "expected a number, got the string '1'"),
    ],
)
def test_the_agent_takes_no_other_welcome(change: dict[str, Any], message: str) -> None:
    frame = {**json.loads(golden("welcome")), **change}

    with pytest.raises(FieldError, match=message):
        decode_welcome(json.dumps(frame))


def test_claims_that_left_or_have_no_name_are_not_told() -> None:
    gone = [
        Entry(
            uid=f"uid-{state.value}",
            namespace="team-research",
            name="train",
            state=state,
            resource_version="1",
            changed_at=NOW,
        )
        for state in (State.STALE_BOOT, State.UNPREPARED, State.UNPREPARING)
    ]
    nameless = Entry(
        uid="uid-9",
        namespace="",
        name="",
        state=State.COMPLETED,
        resource_version="",
        changed_at=NOW,
    )

    frame = json.loads(encode_claims([*gone, nameless], driver="gpu.nvidia.com", seq=1))

    assert frame["claims"] == []


def test_the_largest_node_full_of_processes_fits_into_one_frame() -> None:
    processes = tuple(
        DeviceProcess(
            pid=4_000_000 + number,
            memory_used_bytes=150_000_000_000 + number,
            pod_uid="0a1b2c3d-0000-4000-8000-00000000000a",
            container_id="c" * 64,
        )
        for number in range(PROCESSES_TOLD)
    )
    names = [f"gpu-{gpu}-mig-1g18gb-19-{start}" for gpu in range(16) for start in range(7)]
    readings = tuple(
        replace(READINGS[0], device=name, uuid=f"MIG-{number:036}")
        for number, name in enumerate(names)
    )
    details = {name: replace(DETAILS["gpu-0"], device=name, processes=processes) for name in names}

    frame = decode_frame(encode_sample(Sample(NOW, readings, details), seq=1))

    assert isinstance(frame, ConsoleSample)
    assert [len(device.details.processes or ()) for device in frame.devices if device.details] == [
        PROCESSES_TOLD
    ] * len(names)
