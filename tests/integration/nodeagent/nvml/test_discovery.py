"""What the agent finds through a real shared library with the real structure layouts."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodeagent.devices.errors import NoDriverError
from nodeagent.devices.model import Gpu, Inventory, MigMode, Source
from nodeagent.devices.settings import MigPolicy
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import Connect, connected


@dataclasses.dataclass
class Site:
    """A node with one GPU of every kind, as seen under one MIG policy."""

    machine: FakeMachine
    uuids: dict[str, str]
    gpus: dict[str, Gpu]

    def of(self, kind: str) -> Gpu:
        return self.gpus[self.uuids[kind]]

    def names(self, kind: str) -> list[str]:
        offered = Inventory.of([self.of(kind)], source=Source.NVML)
        return [device.name for device in offered.devices]


def a_machine(directory: Path) -> tuple[FakeMachine, dict[str, str]]:
    machine = FakeMachine(directory)
    uuids = {
        "h100": machine.add(
            "H100-80",
            addressing=2,
            serial=1650123456789,
            part="692-2G520-0200-000",
            clique=7,
            minor=9,
        ),
        "t4": machine.add("T4", bus="00010000:AF:00.0", architecture=4711, ecc=-1),
        "l40s": machine.add("L40S", persistence=0, virtualization=1, clique=0, cluster=0),
        "a100 off": machine.add("A100-40"),
        "a100 cut": machine.add("A100-40", mig=1),
        "a100 empty": machine.add("A100-40", mig=1),
        "a100 split": machine.add("A100-40", mig=1),
        "h100 vgpu": machine.add("H100-80", virtualization=2),
        "h200": machine.add("H200", mig=1),
        "display": machine.add("DGX-Display"),
    }
    machine.has_partitions(
        *(
            line
            for gpu in ("a100 cut", "h200")
            for line in (
                f"gi {uuids[gpu]} 1 9 4",
                f"ci {uuids[gpu]} 1 0 2",
                f"gi {uuids[gpu]} 7 20 0",
                f"ci {uuids[gpu]} 7 0 0",
            )
        ),
        f"gi {uuids['a100 split']} 1 14 0",
        f"ci {uuids['a100 split']} 1 0 0",
        f"ci {uuids['a100 split']} 1 1 0",
        f"gi {uuids['a100 split']} 2 19 4",
        f"ci {uuids['a100 split']} 2 0 0",
    )
    return machine, uuids


def seen_under(policy: MigPolicy, directory: Path) -> Iterator[Site]:
    machine, uuids = a_machine(directory)
    with connected(machine, policy) as gpus:
        yield Site(machine, uuids, {gpu.uuid: gpu for gpu in gpus.discover()})


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from seen_under(MigPolicy.STATIC, tmp_path_factory.mktemp("static"))


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    yield from seen_under(MigPolicy.DYNAMIC, tmp_path_factory.mktemp("dynamic"))


def test_a_gpu_that_offers_everything_is_described_wholly(static: Site) -> None:
    h100 = dataclasses.asdict(static.of("h100"))

    assert h100 == {
        "minor": 9,
        "uuid": static.uuids["h100"],
        "memory_bytes": 81559 << 20,
        "product_name": "NVIDIA H100 80GB HBM3",
        "brand": "Nvidia",
        "architecture": "Hopper",
        "compute_capability": "9.0",
        "driver_version": "580.95.05",
        "cuda_driver_version": "13.0",
        "pci_bus_id": "0000:10:00.0",
        "pcie_root": "pci0000:00",
        "numa_node": 0,
        "near_numa_nodes": (0,),
        "ecc_mode": "enabled",
        "addressing_mode": "ATS",
        "persistence": True,
        "serial": "1650123456789",
        "board_part_number": "692-2G520-0200-000",
        "virtualization": "none",
        "nvlink_clique": "10111213-1415-1617-1819-1a1b1c1d1e1f.7",
        "mig_mode": MigMode.DISABLED,
        "is_dynamic": False,
        "toggles_mig": False,
        "partitions": (),
    }


def test_what_a_board_does_not_offer_is_unknown_and_costs_nothing_else(static: Site) -> None:
    t4 = static.of("t4")

    assert (t4.mig_mode, t4.ecc_mode, t4.addressing_mode) == (MigMode.UNSUPPORTED, None, None)
    assert (t4.serial, t4.nvlink_clique, t4.architecture) == (None, None, "Unknown")
    # A PCI domain beyond four digits has no place in the standard attribute.
    assert (t4.pci_bus_id, t4.pcie_root) == (None, None)
    assert static.names("t4") == ["gpu-1"]


def test_a_fabric_of_one_machine_is_no_clique_that_machines_could_share(static: Site) -> None:
    assert static.of("l40s").nvlink_clique is None
    assert (static.of("l40s").persistence, static.of("l40s").virtualization) == (
        False,
        "passthrough",
    )


def test_boards_for_a_display_alone_are_left_out(static: Site) -> None:
    assert static.uuids["display"] not in static.gpus


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("a100 cut", ["gpu-4-mig-3g20gb-9-4", "gpu-4-mig-1g5gb-me-20-0"]),
        ("h200", ["gpu-8-mig-3g71gb-9-4", "gpu-8-mig-1g18gb-me-20-0"]),
    ],
)
def test_partitions_made_by_hand_are_offered_instead_of_their_gpu(
    static: Site, kind: str, names: list[str]
) -> None:
    assert static.names(kind) == names
    instances = [partition.instance for partition in static.of(kind).partitions]
    assert [(one.gpu_instance_id, one.start) for one in instances if one] == [(1, 4), (7, 0)]
    assert all(partition.uuid for partition in static.of(kind).partitions)


def test_a_gpu_instance_cut_into_several_compute_instances_is_not_offered(static: Site) -> None:
    assert static.names("a100 split") == ["gpu-6-mig-1g5gb-19-4"]


def test_mig_mode_without_partitions_offers_nothing_and_harms_no_other(static: Site) -> None:
    assert static.names("a100 empty") == []
    assert static.of("a100 empty").mig_mode is MigMode.ENABLED


def test_static_policy_offers_whole_what_is_not_cut(static: Site) -> None:
    assert static.names("h100") == ["gpu-9"]
    assert static.names("a100 off") == ["gpu-3"]


def test_dynamic_policy_offers_hopper_whole_and_at_every_place(dynamic: Site) -> None:
    names = dynamic.names("h100")

    assert len(names) == 26
    assert names[:2] == ["gpu-9", "gpu-9-mig-7g80gb-0-0"]
    assert "gpu-9-mig-1g20gb-15-6" in names
    assert all(partition.instance is None for partition in dynamic.of("h100").partitions)


@pytest.mark.parametrize(
    ("kind", "devices", "toggles"),
    [
        ("t4", 1, False),
        ("l40s", 1, False),
        ("a100 off", 1, False),
        ("a100 empty", 25, False),
        ("h100 vgpu", 1, False),
        ("h200", 26, True),
    ],
)
def test_dynamic_policy_is_gated_by_what_each_gpu_of_a_mixed_node_can_do(
    dynamic: Site, kind: str, devices: int, toggles: bool
) -> None:
    assert len(dynamic.names(kind)) == devices
    assert dynamic.of(kind).toggles_mig is toggles


def test_dynamic_policy_shows_which_places_somebody_has_taken(dynamic: Site) -> None:
    taken = {
        (partition.profile.name, partition.start)
        for partition in dynamic.of("a100 cut").partitions
        if partition.instance is not None
    }

    assert taken == {("3g.20gb", 4), ("1g.5gb+me", 0)}


def test_profiles_have_the_numbers_that_the_board_reports(dynamic: Site) -> None:
    by_name = {profile.name: profile for profile in dynamic.of("h200").profiles}

    assert [by_name["3g.71gb"].multiprocessors, by_name["3g.71gb"].memory_slices] == [60, 4]
    assert by_name["1g.18gb+me"].ofa_engines == 1
    assert by_name["7g.141gb"].memory_mebibytes == 143360
    assert by_name["1g.35gb"].starts == (0, 2, 4, 6)


def test_a_driver_that_does_not_name_profiles_has_them_named_by_their_size(
    machine: FakeMachine, connect: Connect
) -> None:
    for board in ("A100-40", "H100-80", "H200"):
        machine.add(board, mig=1)
    named = [[p.name for p in gpu.profiles] for gpu in connect(MigPolicy.DYNAMIC).discover()]
    machine.codes["nvmlDeviceGetGpuInstanceProfileInfoV", ""] = 13
    machine.write()

    old_driver = connect(MigPolicy.DYNAMIC)

    assert [[p.name for p in gpu.profiles] for gpu in old_driver.discover()] == named


def test_names_follow_the_minor_when_another_gpu_is_drained(
    machine: FakeMachine, connect: Connect
) -> None:
    drained = machine.add("L4")
    kept = machine.add("L4")
    gpus = connect()
    assert [gpu.name for gpu in gpus.discover()] == ["gpu-0", "gpu-1"]

    del machine.gpus[drained]
    machine.write()

    assert [(gpu.name, gpu.uuid) for gpu in gpus.discover()] == [("gpu-1", kept)]


def test_a_gpu_that_is_lost_at_start_leaves_the_others(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4", lost=1)
    other = machine.add("L4")

    assert [gpu.uuid for gpu in connect().discover()] == [other]


def test_a_gpu_that_is_lost_later_stays_known_without_readings_until_it_is_back(
    machine: FakeMachine, connect: Connect
) -> None:
    one, other = machine.add("L4"), machine.add("L4")
    gpus = connect()
    known = gpus.discover()

    machine.change(one, lost=1)

    assert {gpu.uuid for gpu in gpus.discover()} == {one, other}
    assert [reading.uuid for reading in gpus.read()] == [other]
    assert {vitals.gpu_uuid: vitals.is_lost for vitals in gpus.vitals()} == {
        one: True,
        other: False,
    }
    machine.change(one, lost=0)
    assert gpus.discover() == known
    assert len(gpus.read()) == 2


@pytest.mark.parametrize("code", [15, 999])
def test_a_gpu_that_does_not_answer_a_second_discovery_stays_and_is_asked_again(
    machine: FakeMachine, connect: Connect, code: int
) -> None:
    sick = machine.add("L4")
    gpus = connect()
    known = gpus.discover()
    machine.codes["nvmlDeviceGetMemoryInfo", sick] = code
    other = machine.add("L4")

    assert {gpu.uuid for gpu in gpus.discover()} == {sick, other}
    machine.settings["driver"] = "590.44.01"
    machine.codes.clear()
    machine.write()
    assert [gpu.driver_version for gpu in gpus.discover()] == ["590.44.01", "590.44.01"]
    assert known[0].driver_version == "580.95.05"


@pytest.mark.parametrize(
    "question",
    [
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
    ],
)
def test_partitions_and_their_readings_stay_while_one_question_about_them_fails(
    machine: FakeMachine, connect: Connect, question: str
) -> None:
    cut, other = machine.add("A100-40", mig=1), machine.add("L4")
    machine.has_partitions(f"gi {cut} 1 19 4", f"ci {cut} 1 0 0")
    gpus = connect()
    known = {gpu.uuid: gpu for gpu in gpus.discover()}
    partition = known[cut].partitions[0].uuid

    for code in (10, 15, 999):
        machine.codes[question, cut] = code
        machine.write()
        assert {gpu.uuid: gpu for gpu in gpus.discover()} == known
        assert {reading.uuid for reading in gpus.read()} == {partition, other}

    machine.codes.clear()
    machine.write()
    assert {gpu.uuid: gpu for gpu in gpus.discover()} == known


@pytest.mark.parametrize(
    "question",
    [
        "nvmlDeviceGetAttributes_v2",
        "nvmlDeviceGetGpuInstanceProfileInfoV",
        "nvmlDeviceGetName",
        "nvmlDeviceGetVirtualizationMode",
    ],
)
def test_a_gpu_is_offered_once_all_is_known_that_decides_how(
    machine: FakeMachine, connect: Connect, question: str
) -> None:
    sick, other = machine.add("A100-40", mig=1), machine.add("L4")
    machine.has_partitions(f"gi {sick} 1 19 4", f"ci {sick} 1 0 0")
    machine.codes[question, sick] = 999
    machine.write()
    gpus = connect()

    assert [gpu.uuid for gpu in gpus.discover()] == [other]
    machine.codes.clear()
    machine.write()
    assert [len(gpu.partitions) for gpu in gpus.discover()] == [1, 0]


def test_a_fact_that_is_not_told_again_is_what_it_was(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("H100-80", serial=4711, clique=7)
    gpus = connect()
    (known,) = gpus.discover()
    for question in ("GetSerial", "GetGpuFabricInfoV", "GetEccMode", "GetPciInfo_v3"):
        machine.codes[f"nvmlDevice{question}", known.uuid] = 999
    machine.add("L4")

    assert gpus.discover()[0] == known


def test_a_node_whose_gpus_all_belong_to_vfio_has_a_driver_and_no_gpu(
    machine: FakeMachine, connect: Connect
) -> None:
    passed_through = machine.add("L4")
    del machine.gpus[passed_through]
    machine.write()
    device = machine.sysfs / "bus/pci/devices/0000:10:00.0"
    (machine.sysfs / "vfio-pci").mkdir()
    (device / "driver").symlink_to(machine.sysfs / "vfio-pci")

    assert connect().discover() == ()


def test_a_driver_that_has_not_bound_its_gpus_yet_is_no_driver_until_it_has(
    machine: FakeMachine, connect: Connect
) -> None:
    uuid = machine.add("L4")
    words = machine.gpus.pop(uuid)
    machine.write()
    gpus = connect()

    with pytest.raises(NoDriverError, match=r"0000:10:00\.0.*being installed"):
        gpus.discover()

    machine.gpus[uuid] = words
    machine.write()
    assert [gpu.uuid for gpu in gpus.discover()] == [uuid]


def test_without_the_library_the_reason_says_where_it_was_looked_for_and_what_is_wrong(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    machine.uninstall()
    gpus = connect()

    with pytest.raises(NoDriverError) as refused:
        gpus.discover()

    assert str(machine.root / "usr/lib64") in str(refused.value)
    assert "usr/lib/wsl/lib" in str(refused.value)
    assert "GPU 0000:10:00.0 is bound to no driver" in str(refused.value)
    machine.install()
    assert len(gpus.discover()) == 1


def test_a_library_that_does_not_load_says_why(machine: FakeMachine, connect: Connect) -> None:
    machine.uninstall()
    (machine.root / "usr/lib64/libnvidia-ml.so.1").write_text("no library")

    with pytest.raises(NoDriverError, match=r"invalid ELF header|file too short"):
        connect().discover()


def test_a_rescan_asks_only_for_what_shows_a_change_and_one_session_serves_all(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.settings["log"] = 1
    machine.add("H100-80")
    cut = machine.add("A100-40", mig=1)
    gpus = connect()
    gpus.discover()
    first = machine.calls()

    gpus.discover()
    again = [call for call in machine.calls() if "Event" not in call]
    gpus.create_partition(cut, 19, 0)
    machine.calls()
    changed = gpus.discover()
    gpus.read()

    assert first.count("nvmlInitWithFlags") == 1
    assert first.count("nvmlDeviceGetName") == 2
    assert len(again) <= 3 + 2 * 3 + 7
    assert "nvmlDeviceGetName" not in again
    last = machine.calls()
    assert last.count("nvmlDeviceGetName") == 2
    assert "nvmlInitWithFlags" not in last
    assert [partition.start for partition in changed[1].partitions] == [0]
