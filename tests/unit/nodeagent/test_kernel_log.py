"""Xids of GPUs that are not held open: what the kernel's log says of them."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nodeagent.devices.events import DriverEvent, Vitals
from nodeagent.devices.kernel_log import KernelLog, LoggedGpus, LoggedXid, xid_of
from nodeagent.devices.model import Inventory, Source
from tests.builders.agents import a_gpu

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BOOTED_SECONDS_AGO = 1000.0
LOST = "3,1200,900000000,-;NVRM: Xid (PCI:0000:31:00): 79, pid=12, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (LOST, LoggedXid("0000:31:00", 79, 900.0, None, None)),
        (
            "3,7,1500000,-;NVRM: Xid (PCI:0000:AF:00 GPU-I:05): 94, pid=7194, Contained",
            LoggedXid("0000:af:00", 94, 1.5, 5, None),
        ),
        (
            "3,7,1,-,caller=T12;NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 13, pid=9, x",
            LoggedXid("0000:3b:00", 13, 1e-6, 1, 2),
        ),
        ("3,7,1,-;nvidia-nvswitch0: SXid (PCI:0000:ca:00.0): 19077, Non-fatal", None),
        ("3,7,1,-;NVRM: GPU at PCI:0000:01:00: GPU-299fe279", None),
        ("6,7,1,-;audit: NVRM: Xid (PCI:0000:31:00): 79, said a process", None),
        (" SUBSYSTEM=pci", None),
        ("", None),
    ],
)
def test_an_xid_is_read_with_its_gpu_and_instance_and_nothing_else_is_taken_for_one(
    line: str, expected: LoggedXid | None
) -> None:
    assert xid_of(line) == expected


@dataclass
class WatchedGpus:
    """GPUs whose driver tells of no events, since nobody may hold them open."""

    def events(self) -> tuple[DriverEvent, ...]:
        return ()

    def vitals(self) -> tuple[Vitals, ...]:
        return (Vitals(gpu_uuid="GPU-0", age_seconds=0.0, is_lost=False),)


def watched(log: KernelLog, inventory: Inventory | None) -> LoggedGpus:
    return LoggedGpus(
        WatchedGpus(),
        log,
        lambda: inventory,
        now=lambda: NOW,
        monotonic=lambda: BOOTED_SECONDS_AGO,
    )


INVENTORY = Inventory.of((a_gpu(0, pci_bus_id="0000:31:00.0"),), source=Source.NVML)


def test_errors_from_before_the_start_are_told_with_the_time_at_which_they_were(
    tmp_path: Path,
) -> None:
    file = tmp_path / "kmsg"
    file.write_text(f"6,1,5,-;something else\n{LOST}\n SUBSYSTEM=pci\n")
    gpus = watched(KernelLog(file), INVENTORY)

    (event,) = gpus.events()

    assert (event.gpu_uuid, event.xid) == ("GPU-0", 79)
    assert event.at == NOW - timedelta(seconds=100)
    assert gpus.events() == ()
    with file.open("a") as more:
        more.write(LOST.replace("79,", "48,") + "\n")
    assert [one.xid for one in gpus.events()] == [48]


def test_errors_wait_until_it_is_known_whose_they_are_and_those_of_other_hardware_are_nobodys(
    tmp_path: Path,
) -> None:
    file = tmp_path / "kmsg"
    file.write_text(f"{LOST}\n{LOST.replace('0000:31', '0000:99')}\n")
    log = KernelLog(file)

    assert watched(log, None).events() == ()
    assert [one.gpu_uuid for one in watched(log, INVENTORY).events()] == ["GPU-0"]


def test_a_log_with_nothing_new_is_not_waited_for() -> None:
    reading, writing = os.pipe()
    try:
        log = KernelLog(Path(f"/proc/self/fd/{reading}"))
        assert list(log.lines()) == []
        os.write(writing, LOST.encode())
        assert list(log.lines()) == [LOST]
    finally:
        os.close(reading)
        os.close(writing)


def test_gpus_count_as_monitored_only_while_the_log_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "kmsg"
    assert [one.is_monitored for one in watched(KernelLog(file), INVENTORY).vitals()] == [False]
    file.touch()
    assert [one.is_monitored for one in watched(KernelLog(file), INVENTORY).vitals()] == [True]
