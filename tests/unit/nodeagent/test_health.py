"""How devices are judged: from events and vital signs to statuses and taints."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.claims.entry import Entry
from nodeagent.devices.control import Instance
from nodeagent.devices.events import DriverEvent, EventKind, RecoveryAction, RowRemap, Vitals
from nodeagent.devices.model import Gpu, Inventory, Reading, Source
from nodeagent.devices.taint import Effect, Taint
from nodeagent.health import xids
from nodeagent.health.assess import Policy
from nodeagent.health.report import MESSAGE_CHARACTERS, DeviceHealth, HealthReport, Reports, Status
from nodeagent.health.state_file import StateFile
from nodeagent.health.watcher import Known, Watcher
from tests.builders.agents import a_mig_inventory, a_planned_device, an_entry, an_inventory

DRIVER = "gpu.nvidia.com"
START = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def well(gpu_uuid: str, **signs: object) -> Vitals:
    signs = {
        "age_seconds": 0.0,
        "is_lost": False,
        "is_monitored": True,
        "needs_reset": False,
        "recovery_action": RecoveryAction.NONE,
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "is_mig_mode_pending": False,
        "is_hot": False,
        "missing_nodes": (),
        **signs,
    }
    return Vitals(gpu_uuid=gpu_uuid, **signs)  # type: ignore[arg-type] # the test gives the signs' own types


@dataclass
class Ward:
    """GPUs whose signs and events a test sets, and the watcher that looks after them."""

    directory: Path
    inventory: Inventory = field(default_factory=an_inventory)
    policy: Policy = field(default_factory=lambda: Policy(driver=DRIVER))
    boot_id: str = "boot-1"
    entries: dict[str, Entry] = field(default_factory=dict)
    absence: str | None = None
    at: datetime = START
    source: Source = Source.NVML
    told: list[HealthReport] = field(default_factory=list)
    signs: dict[str, Vitals] = field(init=False)
    coming: list[DriverEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.signs = {one.gpu.uuid: well(one.gpu.uuid) for one in self.inventory.devices}
        self.restart()

    def restart(self) -> None:
        self.watcher = Watcher(
            signs=self,
            known=Known(
                inventory=lambda: self.inventory,
                absence=lambda: self.absence,
                entries=lambda: self.entries,
            ),
            policy=self.policy,
            kept=StateFile(self.directory / "health.json", self.boot_id),
            reports=Reports(),
            on_taints=self.told.append,
            now=lambda: self.at,
        )

    def xid(self, number: int, gpu: str = "GPU-0", *, instance: int | None = None) -> None:
        compute = None if instance is None else 0
        self.coming.append(
            DriverEvent(
                kind=EventKind.XID,
                gpu_uuid=gpu,
                at=self.at,
                xid=number,
                gpu_instance_id=instance,
                compute_instance_id=compute,
            )
        )

    def change(self, gpu: str = "GPU-0", /, **signs: object) -> None:
        self.signs[gpu] = replace(self.signs[gpu], **signs)  # type: ignore[arg-type] # the test gives the signs' own types

    def look(self, *, seconds: float = 0) -> HealthReport:
        """Let time pass and look."""
        self.at += timedelta(seconds=seconds)
        return self.watcher.look()

    def of(self, device: str = "gpu-0", *, seconds: float = 0) -> DeviceHealth:
        found = self.look(seconds=seconds).find(device)
        assert found is not None
        return found

    def events(self) -> tuple[DriverEvent, ...]:
        coming, self.coming = tuple(self.coming), []
        return coming

    def vitals(self) -> tuple[Vitals, ...]:
        return tuple(self.signs.values())

    def discover(self) -> tuple[Gpu, ...]:
        return ()

    def read(self) -> tuple[Reading, ...]:
        return ()

    def close(self) -> None:
        pass


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    return Ward(tmp_path)


def a_taint(key: str, value: str = "", effect: Effect = Effect.NO_SCHEDULE) -> Taint:
    return Taint(f"{DRIVER}/{key}", value, effect)


def test_a_gpu_that_is_well_says_nothing(ward: Ward) -> None:
    health = ward.of()

    assert (health.status, health.message, health.taints) == (Status.HEALTHY, "", ())
    assert health.since == START


@pytest.mark.parametrize("xid", sorted(xids.APPLICATION))
def test_an_applications_mistake_says_nothing_against_the_gpu(ward: Ward, xid: int) -> None:
    ward.xid(xid)

    assert ward.of().status is Status.HEALTHY
    assert [one.xid for one in ward.watcher.memory.xids["GPU-0"]] == [xid]


def test_any_other_error_number_keeps_claims_away_until_somebody_knows_better(ward: Ward) -> None:
    ward.xid(79)
    ward.xid(9999, "GPU-1")

    assert ward.of().taints == (a_taint("xid", "79"),)
    assert ward.of("gpu-1").taints == (a_taint("xid", "9999"),)
    assert ward.of().status is Status.UNHEALTHY
    assert ward.of().message == "Xid 79 (fallen off the bus) at 2026-11-30T10:00:00Z"


def test_what_the_administrator_ignores_is_recorded_only(tmp_path: Path) -> None:
    policy = Policy(driver=DRIVER, application_xids=xids.APPLICATION | {62})
    ward = Ward(tmp_path, policy=policy)
    ward.xid(62)

    assert ward.of().status is Status.HEALTHY


def test_pods_are_evicted_only_if_the_administrator_says_so(tmp_path: Path) -> None:
    ward = Ward(tmp_path, policy=Policy(driver=DRIVER, fatal_effect=Effect.NO_EXECUTE))
    ward.xid(79)
    ward.change(missing_nodes=("/dev/nvidia0",))

    assert ward.of().taints == (
        a_taint("device-nodes-missing"),
        a_taint("xid", "79", Effect.NO_EXECUTE),
    )
    ward.absence = "the driver is being replaced"
    assert a_taint("unmonitored", "no-driver") in ward.of("gpu-1").taints


def test_the_newest_error_number_is_the_taints_value_and_the_last_sixteen_are_kept(
    ward: Ward,
) -> None:
    for number in range(200, 220):
        ward.xid(number)
        ward.look(seconds=1)

    assert ward.of().taints == (a_taint("xid", "219"),)
    assert [one.xid for one in ward.watcher.memory.xids["GPU-0"]] == list(range(204, 220))


@pytest.mark.parametrize(
    ("signs", "taint", "status"),
    [
        ({"is_lost": True}, a_taint("gpu-lost"), Status.UNHEALTHY),
        ({"needs_reset": True}, a_taint("reset-required"), Status.UNHEALTHY),
        (
            {"recovery_action": RecoveryAction.NODE_REBOOT},
            a_taint("reset-required", "node-reboot"),
            Status.UNHEALTHY,
        ),
        (
            {"recovery_action": RecoveryAction.UNKNOWN},
            a_taint("reset-required", "unknown"),
            Status.UNHEALTHY,
        ),
        (
            {"recovery_action": RecoveryAction.RECOVER_IMEX_DOMAIN},
            a_taint("reset-required", "recover-imex-domain", Effect.NONE),
            Status.HEALTHY,
        ),
        (
            {"row_remap": RowRemap(corrected=0, uncorrected=1, is_pending=False, has_failed=True)},
            a_taint("row-remap", "failed"),
            Status.UNHEALTHY,
        ),
        (
            {"row_remap": RowRemap(corrected=0, uncorrected=1, is_pending=True, has_failed=False)},
            a_taint("row-remap", "pending"),
            Status.UNHEALTHY,
        ),
        (
            {"has_retired_pages_pending": True},
            a_taint("ecc", "retired-pages-pending"),
            Status.UNHEALTHY,
        ),
        ({"ecc_uncorrected": 2}, a_taint("ecc", "uncorrected", Effect.NONE), Status.HEALTHY),
        (
            {"ecc_uncorrected": 2, "recovery_action": None},
            a_taint("ecc", "uncorrected"),
            Status.UNHEALTHY,
        ),
        ({"unknown_errors": 3}, a_taint("driver-error", "999"), Status.UNHEALTHY),
        ({"is_monitored": False}, a_taint("unmonitored", "", Effect.NONE), Status.UNKNOWN),
        (
            {"missing_nodes": ("/dev/nvidia-uvm",)},
            a_taint("device-nodes-missing"),
            Status.UNHEALTHY,
        ),
        (
            {"is_mig_mode_pending": True},
            a_taint("mig-mode-pending", "", Effect.NONE),
            Status.HEALTHY,
        ),
        ({"is_hot": True}, a_taint("thermal", "", Effect.NONE), Status.HEALTHY),
        ({"age_seconds": 20.0}, a_taint("unmonitored", "driver-silent"), Status.UNKNOWN),
    ],
)
def test_each_vital_sign_has_its_taint_and_its_status(
    ward: Ward, signs: dict[str, object], taint: Taint, status: Status
) -> None:
    ward.change(**signs)

    health = ward.of()

    assert (health.taints, health.status) == ((taint,), status)
    assert health.message
    assert ward.of("gpu-1").status is Status.HEALTHY


def test_what_is_not_known_is_neither_well_nor_sick(ward: Ward) -> None:
    ward.signs["GPU-0"] = Vitals(gpu_uuid="GPU-0", age_seconds=0.0)
    del ward.signs["GPU-1"]

    for device in ("gpu-0", "gpu-1"):
        health = ward.of(device)
        assert (health.status, health.taints) == (Status.UNKNOWN, ())


def test_a_sick_gpu_stays_sick_while_the_driver_cannot_be_asked(ward: Ward) -> None:
    ward.xid(48)
    ward.look()
    ward.change(age_seconds=25.0)
    ward.change("GPU-1", age_seconds=25.0)

    sick, unknown = ward.of("gpu-0", seconds=25), ward.of("gpu-1")

    assert sick.status is Status.UNHEALTHY
    assert sick.taints == (a_taint("unmonitored", "driver-silent"), a_taint("xid", "48"))
    assert unknown.status is Status.UNKNOWN


def test_without_a_driver_known_devices_are_unknown_at_once_and_keep_claims_away(
    ward: Ward,
) -> None:
    ward.look()
    ward.absence = "libnvidia-ml.so.1 not found"

    health = ward.of()

    assert (health.status, health.message) == (
        Status.UNKNOWN,
        "no driver: libnvidia-ml.so.1 not found",
    )
    assert health.taints == (a_taint("unmonitored", "no-driver"),)


def test_a_fault_that_the_driver_sees_no_need_to_recover_from_is_over_after_a_quiet_minute(
    ward: Ward,
) -> None:
    ward.xid(94)
    assert ward.of().taints
    ward.look(seconds=40)
    ward.xid(94)
    assert ward.of(seconds=40).taints, "the second event came 40 s ago"

    assert ward.of(seconds=21).status is Status.HEALTHY
    assert ward.of().taints == ()


def test_a_fault_is_not_over_while_the_driver_recommends_an_action(ward: Ward) -> None:
    ward.xid(95)
    ward.change(recovery_action=RecoveryAction.DRAIN_AND_RESET)

    assert ward.of(seconds=3600).taints == (
        a_taint("reset-required", "drain-and-reset"),
        a_taint("xid", "95"),
    )

    ward.change(recovery_action=RecoveryAction.NONE)
    assert ward.of().taints == ()


@pytest.mark.parametrize(
    ("during", "after"),
    [
        ({"is_lost": True}, {"is_lost": False}),
        ({"needs_reset": True}, {"needs_reset": False}),
        ({"ecc_corrected": 7}, {"ecc_corrected": 0}),
    ],
)
def test_where_the_driver_recommends_nothing_a_fault_lasts_until_a_reset_is_seen(
    ward: Ward, during: dict[str, object], after: dict[str, object]
) -> None:
    ward.change(recovery_action=None)
    ward.xid(79)
    ward.look()
    assert ward.of(seconds=3600).status is Status.UNHEALTHY

    ward.change(**during)
    ward.look(seconds=5)
    ward.change(**after)
    ward.look(seconds=5)

    assert ward.of(seconds=61).status is Status.HEALTHY


def test_a_clock_that_is_set_back_does_not_keep_a_fault_for_ever(ward: Ward) -> None:
    ward.xid(79)
    ward.look()
    ward.look(seconds=-86400)

    assert ward.of(seconds=61).status is Status.HEALTHY


def test_heat_is_told_for_a_minute_and_not_at_each_look(ward: Ward) -> None:
    ward.change(is_hot=True)
    ward.look()
    numbers = set()
    for second in range(90):
        ward.change(is_hot=second % 2 == 0)
        numbers.add(ward.look(seconds=1).number)

    assert len(numbers) == 1
    ward.change(is_hot=False)
    assert ward.of(seconds=91).taints == ()


def test_a_fault_outlives_the_agent_and_not_the_boot(ward: Ward) -> None:
    ward.xid(79)
    sick = ward.of()
    ward.restart()

    assert ward.of().taints == sick.taints
    assert [one.xid for one in ward.watcher.memory.xids["GPU-0"]] == [79]

    ward.boot_id = "boot-2"
    ward.restart()
    assert ward.of().status is Status.HEALTHY


@pytest.mark.parametrize("content", [b"", b"{", b'{"bootId": "boot-1", "format": 7}', b"[]"])
def test_faults_that_cannot_be_read_do_not_keep_the_agent_from_starting(
    ward: Ward, content: bytes
) -> None:
    (ward.directory / "health.json").write_bytes(content)
    ward.restart()

    assert ward.of().status is Status.HEALTHY


def test_nothing_is_written_while_nothing_happens(ward: Ward) -> None:
    for _ in range(3):
        ward.look(seconds=10)
    assert not (ward.directory / "health.json").exists()
    ward.xid(79)
    ward.look()
    written = (ward.directory / "health.json").stat().st_ino
    ward.look(seconds=3)

    assert (ward.directory / "health.json").stat().st_ino == written


def test_an_event_of_a_whole_gpu_concerns_all_its_partitions_and_no_other_gpu(
    tmp_path: Path,
) -> None:
    inventory = a_mig_inventory()
    ward = Ward(tmp_path, inventory=inventory)
    sick = inventory.devices[0].gpu.uuid
    ward.xid(79, sick)

    report = ward.look()

    assert {one.device for one in report.devices if one.taints} == {
        one.name for one in inventory.devices if one.gpu.uuid == sick
    }
    assert [one.device for one in report.devices] == [one.name for one in inventory.devices]


def test_an_event_of_a_gpu_instance_concerns_what_lies_there_by_the_table_of_now(
    tmp_path: Path,
) -> None:
    inventory = a_mig_inventory()
    ward = Ward(tmp_path, inventory=inventory)
    gpu = inventory.devices[0].gpu
    chosen = next(
        one
        for one in inventory.devices
        if one.partition is not None and one.partition.start == 2 and len(one.partition.slices) == 2
    )
    held = a_planned_device(
        chosen.name, parent_uuid=gpu.uuid, gpu_instance_id=5, mig_start=2, mig_size=2
    )
    ward.entries["uid-1"] = an_entry("uid-1", held)
    ward.xid(94, gpu.uuid, instance=5)

    tainted = {one.device for one in ward.look().devices if one.taints}

    overlapping = {
        one.name
        for one in inventory.devices
        if one.gpu.uuid == gpu.uuid
        and (one.partition is None or {2, 3} & set(one.partition.slices))
    }
    assert chosen.name in tainted
    assert tainted == overlapping
    # The claim is over; where the fault was is known all the same, after a restart as well.
    ward.entries.clear()
    ward.restart()
    assert {one.device for one in ward.look().devices if one.taints} == overlapping


def test_an_event_of_a_fixed_partition_concerns_it_alone_and_of_an_unknown_one_the_gpu(
    tmp_path: Path,
) -> None:
    template = a_mig_inventory().devices
    gpu = template[0].gpu
    places = [one.partition for one in template if one.partition and one.gpu == gpu]
    smallest = [one for one in places if len(one.slices) == 1][:2]
    static = tuple(
        replace(
            one,
            uuid=f"MIG-{number}",
            instance=Instance(
                uuid=f"MIG-{number}",
                gpu_instance_id=7 + number,
                compute_instance_id=0,
                profile_id=one.profile.id,
                start=one.start,
            ),
        )
        for number, one in enumerate(smallest)
    )
    inventory = Inventory.of(
        [replace(gpu, partitions=static, is_dynamic=False)], source=Source.NVML
    )
    ward = Ward(tmp_path, inventory=inventory)
    ward.xid(94, gpu.uuid, instance=8)
    names = [one.name for one in inventory.devices if one.partition]

    assert {one.device for one in ward.look().devices if one.taints} & set(names) == {names[1]}

    ward.xid(95, gpu.uuid, instance=77)
    assert len(ward.look().taints) == len(inventory.devices)


def test_since_is_when_the_status_or_its_reason_became_so(ward: Ward) -> None:
    assert ward.of().since == START
    assert ward.of(seconds=10).since == START
    ward.change(is_lost=True)
    assert ward.of(seconds=10).since == START + timedelta(seconds=20)
    assert ward.of(seconds=10).since == START + timedelta(seconds=20)
    ward.change(is_lost=False)
    assert ward.of(seconds=10).since == START + timedelta(seconds=40)


signs = st.fixed_dictionaries(
    {},
    optional={
        "age_seconds": st.floats(0, 100),
        "is_lost": st.none() | st.booleans(),
        "is_monitored": st.none() | st.booleans(),
        "needs_reset": st.none() | st.booleans(),
        "recovery_action": st.none() | st.sampled_from(RecoveryAction),
        "ecc_uncorrected": st.none() | st.integers(0, 3),
        "is_hot": st.none() | st.booleans(),
        "unknown_errors": st.integers(0, 5),
        "missing_nodes": st.none() | st.just(("/dev/n\u00e9",)),
    },
)


@settings(max_examples=40)
@given(st.lists(st.tuples(signs, st.integers(0, 200), st.integers(0, 100)), max_size=6))
def test_whatever_happens_one_taint_a_key_ascii_and_never_well_without_a_fresh_look(
    tmp_path_factory: pytest.TempPathFactory,
    looks: list[tuple[dict[str, object], int, int]],
) -> None:
    ward = Ward(tmp_path_factory.mktemp("ward"), inventory=an_inventory("gpu-0"))
    for given_signs, xid, seconds in looks:
        ward.signs["GPU-0"] = Vitals(
            gpu_uuid="GPU-0",
            **{"age_seconds": 0.0, **given_signs},  # type: ignore[arg-type] # by name
        )
        ward.xid(xid)
        health = ward.of(seconds=seconds)
        vitals = ward.signs["GPU-0"]

        keys = [taint.key for taint in health.taints]
        assert len(keys) == len(set(keys))
        assert health.message.isascii()
        assert len(health.message) <= MESSAGE_CHARACTERS
        if health.status is Status.HEALTHY:
            assert vitals.age_seconds < 20
            assert vitals.is_monitored
            assert not vitals.is_lost
            assert not any(taint.keeps_away for taint in health.taints)
        else:
            assert health.message
