from datetime import UTC, datetime, timedelta

from dra_console.telemetry.held_and_used import held_and_used_now
from dra_console.telemetry.readings import DeviceKey, Reading

NOW = datetime(2026, 11, 29, 20, tzinfo=UTC)


def a_reading(*, utilisation_percent: int | None = 50, received_at: datetime = NOW) -> Reading:
    return Reading(
        taken_at=received_at,
        received_at=received_at,
        utilisation_percent=utilisation_percent,
        memory_used_bytes=None,
        memory_total_bytes=None,
        power_milliwatts=None,
        temperature_celsius=None,
        sm_clock_megahertz=None,
    )


def a_key(device: str = "gpu-0") -> DeviceKey:
    return DeviceKey("gpu.nvidia.com", "gpu-01", device)


def test_reading_is_fresh_for_fifteen_seconds_and_stale_after() -> None:
    reading = a_reading(received_at=NOW)

    assert not reading.is_stale(NOW + timedelta(seconds=15))
    assert reading.is_stale(NOW + timedelta(seconds=16))


def test_device_key_reads_as_driver_pool_and_device() -> None:
    assert str(a_key("gpu-3")) == "gpu.nvidia.com/gpu-01/gpu-3"


def test_used_devices_are_the_sum_of_what_the_held_ones_do() -> None:
    readings = {
        a_key("gpu-0"): a_reading(utilisation_percent=90),
        a_key("gpu-1"): a_reading(utilisation_percent=60),
        a_key("gpu-2"): a_reading(utilisation_percent=99),
    }

    point = held_and_used_now({a_key("gpu-0"), a_key("gpu-1")}, readings, now=NOW)

    assert (point.held_devices, point.used_devices, point.unknown_devices) == (2, 1.5, 0)


def test_held_device_without_a_fresh_utilisation_is_unknown_not_idle() -> None:
    readings = {
        a_key("gpu-0"): a_reading(utilisation_percent=None),
        a_key("gpu-1"): a_reading(received_at=NOW - timedelta(seconds=60)),
    }

    point = held_and_used_now({a_key("gpu-0"), a_key("gpu-1"), a_key("gpu-2")}, readings, now=NOW)

    assert (point.held_devices, point.used_devices, point.unknown_devices) == (3, 0.0, 3)
