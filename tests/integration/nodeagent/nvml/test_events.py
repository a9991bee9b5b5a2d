"""What the driver tells of trouble, through real event sets and structures."""

import time
from collections.abc import Callable

import pytest

from nodeagent.devices.events import (
    DriverEvent,
    EventKind,
    RecoveryAction,
    RowRemap,
    Vitals,
)
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.worker.proxy import WorkerGpus
from tests.fake_nvml.machine import DOUBLE_BIT_ECC, RECOVERY_ACTION, XID, FakeMachine
from tests.integration.nodeagent.nvml.conftest import Connect

PATIENCE_SECONDS = 20
NO_ROWS = RowRemap(corrected=0, uncorrected=0, is_pending=False, has_failed=False)


def wait_for(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_watching(gpus: WorkerGpus) -> bool:
    return all(vitals.is_monitored is not None for vitals in gpus.vitals())


def told(gpus: WorkerGpus, count: int) -> list[DriverEvent]:
    events: list[DriverEvent] = []

    def look() -> bool:
        events.extend(gpus.events())
        return len(events) >= count

    wait_for(look)
    return events


def vitals_of(gpus: WorkerGpus, uuid: str) -> Vitals:
    return next(one for one in gpus.vitals() if one.gpu_uuid == uuid)


def test_events_come_once_in_order_with_their_place(machine: FakeMachine, connect: Connect) -> None:
    one, other = machine.add("H100-80"), machine.add("A100-40", mig=1)
    gpus = connect(MigPolicy.DYNAMIC)
    gpus.discover()
    wait_for(lambda: is_watching(gpus))

    machine.raise_event(one, XID, 79)
    machine.raise_event(other, XID, 94, instance=3)
    machine.raise_event(other, DOUBLE_BIT_ECC)
    machine.raise_event(one, RECOVERY_ACTION)
    events = told(gpus, 4)

    assert [(event.kind, event.gpu_uuid, event.xid) for event in events] == [
        (EventKind.XID, one, 79),
        (EventKind.XID, other, 94),
        (EventKind.DOUBLE_BIT_ECC, other, None),
        (EventKind.RECOVERY_ACTION, one, None),
    ]
    assert [event.gpu_instance_id for event in events] == [None, 3, None, None]
    assert gpus.events() == ()


def test_a_lost_gpu_is_told_once_and_the_others_stay_watched(
    machine: FakeMachine, connect: Connect
) -> None:
    one, other = machine.add("H100-80"), machine.add("H100-80")
    gpus = connect()
    gpus.discover()
    wait_for(lambda: is_watching(gpus))

    machine.change(one, lost=1)
    (lost,) = told(gpus, 1)
    wait_for(lambda: vitals_of(gpus, one).is_lost)
    # The wait backs off after an error; what is raised meanwhile comes when it goes on.
    time.sleep(1.5)
    machine.raise_event(other, XID, 48)

    assert (lost.kind, lost.gpu_uuid) == (EventKind.GPU_UNAVAILABLE, one)
    assert [(event.gpu_uuid, event.xid) for event in told(gpus, 1)] == [(other, 48)]
    assert not vitals_of(gpus, other).is_lost


def test_a_gpu_that_cannot_be_watched_says_so(machine: FakeMachine, connect: Connect) -> None:
    watched, unwatched, without = (machine.add("L4") for _ in range(3))
    machine.change(without, events=1)
    machine.codes["nvmlDeviceRegisterEvents", unwatched] = 4
    machine.write()
    gpus = connect()
    gpus.discover()
    wait_for(lambda: is_watching(gpus))

    assert {one.gpu_uuid: one.is_monitored for one in gpus.vitals()} == {
        watched: True,
        unwatched: False,
        without: False,
    }


def test_vitals_tell_of_every_kind_of_trouble(machine: FakeMachine, connect: Connect) -> None:
    well = machine.add("H100-80")
    sick = machine.add(
        "H100-80", recovery=2, rows="3,1,1,0", corrected=12, uncorrected=2, throttle=0x44
    )
    old = machine.add("T4", retired=1)
    pending = machine.add("A100-40", mig=0, pending=1)
    newer = machine.add("H200", recovery=42)
    gpus = connect()
    gpus.discover()

    found = {one.gpu_uuid: one for one in gpus.vitals()}

    assert found[well].recovery_action is RecoveryAction.NONE
    assert found[well].row_remap == RowRemap(
        corrected=0, uncorrected=0, is_pending=False, has_failed=False
    )
    assert (found[well].is_hot, found[well].is_lost) == (False, False)
    assert found[well].missing_nodes == ()
    assert found[sick].recovery_action is RecoveryAction.NODE_REBOOT
    assert found[sick].row_remap == RowRemap(
        corrected=3, uncorrected=1, is_pending=True, has_failed=False
    )
    assert (found[sick].ecc_corrected, found[sick].ecc_uncorrected) == (12, 2)
    assert found[sick].is_hot
    # Turing tells of none of these; unknown is not well.
    assert (found[old].recovery_action, found[old].row_remap) == (None, None)
    assert found[old].has_retired_pages_pending
    assert found[well].has_retired_pages_pending is None
    assert found[pending].is_mig_mode_pending
    assert found[newer].recovery_action is RecoveryAction.UNKNOWN


def test_trouble_stays_while_a_question_about_it_fails_and_advice_of_none_becomes_unknown(
    machine: FakeMachine, connect: Connect
) -> None:
    sick = machine.add("H100-80", recovery=1, rows="0,0,0,1", uncorrected=2)
    well = machine.add("H100-80", recovery=0)
    gpus = connect()
    gpus.discover()
    wait_for(lambda: is_watching(gpus))
    known = vitals_of(gpus, sick)

    for question in ("GetFieldValues", "GetRemappedRows", "GetTotalEccErrors", "GetMigMode"):
        machine.codes[f"nvmlDevice{question}", ""] = 999
    machine.write()
    still = vitals_of(gpus, sick)

    assert (still.recovery_action, still.row_remap) == (known.recovery_action, known.row_remap)
    assert (still.recovery_action, still.ecc_uncorrected) == (RecoveryAction.GPU_RESET, 2)
    assert still.is_mig_mode_pending is False
    assert vitals_of(gpus, well).recovery_action is None
    machine.codes.clear()
    machine.change(sick, recovery=0, rows="0,0,0,0")
    assert vitals_of(gpus, sick).recovery_action is RecoveryAction.NONE
    assert vitals_of(gpus, sick).row_remap == NO_ROWS


@pytest.mark.parametrize(
    ("code", "needs_reset", "unknown_errors"), [(16, True, 0), (999, False, 3)]
)
def test_a_gpu_that_refuses_its_temperature_is_looked_at_closer(
    machine: FakeMachine, connect: Connect, code: int, needs_reset: bool, unknown_errors: int
) -> None:
    uuid = machine.add("L4")
    gpus = connect()
    gpus.discover()
    machine.codes["nvmlDeviceGetTemperature", uuid] = code
    machine.write()

    gpus.vitals()
    gpus.vitals()
    vitals = vitals_of(gpus, uuid)

    assert (vitals.needs_reset, vitals.unknown_errors) == (needs_reset, unknown_errors)
    machine.codes.clear()
    machine.write()
    assert vitals_of(gpus, uuid).unknown_errors == 0


def test_a_node_that_cuda_needs_and_that_is_not_there_is_named_and_asked_for(
    machine: FakeMachine, connect: Connect
) -> None:
    uuid = machine.add("L4", minor=3)
    for name in ("nvidia3", "nvidia-uvm"):
        (machine.dev / name).unlink()
    gpus = connect()
    gpus.discover()
    dev = machine.dev

    assert vitals_of(gpus, uuid).missing_nodes == (str(dev / "nvidia3"), str(dev / "nvidia-uvm"))

    program = machine.root / "usr/bin/nvidia-modprobe"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nfor n in nvidia$3 nvidia-uvm; do ln -s /dev/null {dev}/$n; done"
    )
    program.chmod(0o755)
    again = connect()
    again.discover()
    assert vitals_of(again, uuid).missing_nodes == ()
