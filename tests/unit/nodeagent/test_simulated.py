from collections.abc import Collection

from nodeagent.devices.model import Reading
from nodeagent.devices.simulated import SimulatedGpus

MINUTE = 60


def readings_after(seconds: int, gpus: SimulatedGpus) -> dict[str, list[Reading]]:
    history: dict[str, list[Reading]] = {}
    for _ in range(seconds):
        for reading in gpus.read():
            history.setdefault(reading.device, []).append(reading)
    return history


def simulated(profile: str, prepared: Collection[str]) -> SimulatedGpus:
    return SimulatedGpus(profile, "gpu-01", prepared_devices=lambda: prepared)


def test_only_prepared_devices_show_load() -> None:
    history = readings_after(2 * MINUTE, simulated("h100x8", {"gpu-3"}))

    assert max(reading.utilisation_percent or 0 for reading in history["gpu-3"]) > 20
    assert all(reading.utilisation_percent == 0 for reading in history["gpu-0"])
    assert all(reading.memory_used_bytes == 0 for reading in history["gpu-0"])


def test_load_appears_within_two_seconds_of_preparing_and_moves() -> None:
    history = readings_after(30, simulated("h100x8", {"gpu-0"}))["gpu-0"]

    assert (history[1].utilisation_percent or 0) > 0
    assert len({reading.utilisation_percent for reading in history}) > 5


def test_load_dies_down_when_the_claim_goes() -> None:
    prepared = {"gpu-0"}
    gpus = simulated("h100x8", prepared)
    readings_after(MINUTE, gpus)

    prepared.clear()
    last = readings_after(MINUTE, gpus)["gpu-0"][-1]

    assert last.utilisation_percent == 0
    assert last.memory_used_bytes == 0


def test_readings_stay_within_what_the_board_can_do() -> None:
    prepared = {f"gpu-{minor}" for minor in range(8)}
    history = readings_after(5 * MINUTE, simulated("h100x8", prepared))

    for reading in (reading for readings in history.values() for reading in readings):
        assert 0 <= (reading.utilisation_percent or 0) <= 100
        assert (reading.memory_used_bytes or 0) <= (reading.memory_total_bytes or 0)
        assert 70_000 <= (reading.power_milliwatts or 0) <= 700_000
        assert 30 <= (reading.temperature_celsius or 0) <= 80


def test_a_partition_is_read_only_while_prepared_and_never_with_its_parents_load() -> None:
    name = "gpu-0-mig-1g5gb-19-0"
    history = readings_after(10, simulated("a100x2-mig", {name}))

    assert set(history) == {name}
    reading = history[name][-1]
    assert reading.utilisation_percent is None
    assert reading.power_milliwatts is None
    assert reading.memory_total_bytes == 4864 << 20
    assert (reading.memory_used_bytes or 0) > 0
