"""The NVML reader against a real shared library with the real structure layouts."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.programs import need

HERE = Path(__file__).parent
REPOSITORY = Path(__file__).parents[4]
Look: TypeAlias = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nvml")
    target = directory / "libnvidia-ml.so.1"
    flags = ("-shared", "-fPIC", "-Wall", "-Werror", "-Wl,-soname,libnvidia-ml.so.1")
    subprocess.run([need("gcc"), *flags, "-o", target, HERE / "stub.c"], check=True)
    return directory


@pytest.fixture
def look(library: Path, tmp_path: Path) -> Look:
    device = tmp_path / "devices/pci0000:15/0000:15:01.0/0000:1b:00.0"
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    (tmp_path / "bus/pci/devices").mkdir(parents=True)
    (tmp_path / "bus/pci/devices/0000:1b:00.0").symlink_to(device)

    def run(*, with_library: bool = True, **environment: str) -> dict[str, Any]:
        paths = {"LD_LIBRARY_PATH": str(library)} if with_library else {}
        finished = subprocess.run(
            [sys.executable, "-m", "tests.integration.nodeagent.nvml.look", tmp_path],
            env={**os.environ, **paths, **environment},
            cwd=REPOSITORY,
            check=True,
            capture_output=True,
        )
        # The log goes to standard output, too; the answer is its last line.
        found: dict[str, Any] = json.loads(finished.stdout.decode().splitlines()[-1])
        return found

    return run


def test_a_gpu_that_offers_everything_is_described_wholly(look: Look) -> None:
    h100 = look()["gpus"][0]

    assert h100 == {
        "minor": 7,
        "uuid": "GPU-h100",
        "memory_bytes": 85520809984,
        "product_name": "NVIDIA H100 80GB HBM3",
        "brand": "Nvidia",
        "architecture": "Hopper",
        "compute_capability": "9.0",
        "driver_version": "580.95.05",
        "cuda_driver_version": "13.1",
        "pci_bus_id": "0000:1b:00.0",
        "pcie_root": "pci0000:15",
        "numa_node": 1,
        "ecc_mode": "enabled",
        "mig_mode": "disabled",
        "partitions": [],
    }


def test_what_a_board_does_not_offer_is_unknown_and_costs_nothing_else(look: Look) -> None:
    found = look()
    t4 = found["gpus"][1]
    reading = found["readings"][1]

    assert (t4["uuid"], t4["mig_mode"], t4["ecc_mode"]) == ("GPU-t4", "unsupported", None)
    assert t4["architecture"] == "Unknown"
    assert (t4["pci_bus_id"], t4["pcie_root"]) == (None, None)
    assert reading["utilisation_percent"] is None
    assert reading["memory_used_bytes"] == 2000
    assert reading["temperature_celsius"] == 60
    assert reading["process_count"] == 0


def test_readings_are_in_the_wires_units(look: Look) -> None:
    assert look()["readings"][0] == {
        "device": "gpu-7",
        "uuid": "GPU-h100",
        "utilisation_percent": 97,
        "memory_used_bytes": 1000,
        "memory_total_bytes": 85520809984,
        "power_milliwatts": 612345,
        "temperature_celsius": 60,
        "sm_clock_megahertz": 1980,
        "process_count": 2,
    }


def test_a_lost_gpu_leaves_the_others(look: Look) -> None:
    assert [gpu["uuid"] for gpu in look()["gpus"]] == ["GPU-h100", "GPU-t4", "GPU-a100"]


def test_a_gpu_in_mig_mode_offers_neither_itself_nor_readings(look: Look) -> None:
    found = look()

    assert found["gpus"][2]["mig_mode"] == "enabled"
    assert found["gpus"][2]["partitions"] == []
    assert [reading["uuid"] for reading in found["readings"]] == ["GPU-h100", "GPU-t4"]


@pytest.mark.parametrize("code", ["3", "4", "15", "999"])
def test_a_failing_field_is_not_reported_and_never_zero(look: Look, code: str) -> None:
    reading = look(NVML_STUB_POWER=code)["readings"][0]

    assert reading["power_milliwatts"] is None
    assert reading["utilisation_percent"] == 97


@pytest.mark.parametrize(
    ("code", "error"),
    [("9", "NoDriverError"), ("999", "NoDriverError"), ("18", "DriverChangedError")],
)
def test_a_driver_that_cannot_be_used_is_told_apart_from_one_that_changed(
    look: Look, code: str, error: str
) -> None:
    assert look(NVML_STUB_INIT=code)["error"][0] == error


def test_without_the_library_there_is_no_driver(look: Look) -> None:
    kind, message = look(with_library=False)["error"]

    assert kind == "NoDriverError"
    assert "Not Found" in message
