"""One CDI file of every kind that the agent writes, made by the agent's own parts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from nodeagent.cdi.edits import EditsSource, SimulatedEdits
from nodeagent.cdi.hooks import HookProgram
from nodeagent.cdi.spec import ContainerEdits, device_name, qualified_name
from nodeagent.cdi.store import CdiStore
from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.injection import Injection
from nodeagent.claims.mps import MpsDaemons
from nodeagent.devices.model import Inventory, MigMode, Source
from nodeagent.fields import JsonObject
from tests.builders.agents import a_gpu, a_mig_inventory, an_inventory
from tests.builders.drivers import FakeDriver

DRIVER: Final = "gpu.nvidia.com"
BUS_ID: Final = "0000:00:00.0"
INSTANCE: Final = {"gpu_instance_id": 3, "compute_instance_id": 0}
CAPABILITY_MINORS: Final = (3, 5)
"""With the major of memory devices: the null device and the zero device."""

MPS_ID: Final = "claim-mps-0a1b2"


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A claim's file, and the names by which kubelet asks for its devices."""

    profile: str
    path: Path
    spec: JsonObject
    ids: tuple[str, ...]


def claim_files(
    directory: Path, driver: FakeDriver, *, hook: HookProgram, mps: MpsDaemons
) -> tuple[ClaimFile, ...]:
    """Write a file for each way to have a GPU of this driver, and of the simulation.

    GPU 0 is whole and has graphics, GPU 1 is cut into partitions.
    """
    driver.graphics(BUS_ID, "card1", "renderD128")
    driver.instance(1, INSTANCE["gpu_instance_id"], minors=CAPABILITY_MINORS)
    real = _real_inventory()
    with_hooks, without_hooks = driver.edits(hook), driver.edits(None)
    partition = next(one.name for one in real.devices if one.partition is not None)
    simulated_partition = a_mig_inventory().devices[-1].name
    writer = _Writer(directory)
    simulated = SimulatedEdits()
    return (
        writer.write("full", with_hooks, real, [_planned("gpu-0")]),
        writer.write("full-without-hooks", without_hooks, real, [_planned("gpu-0")]),
        writer.write("mig", with_hooks, real, [_planned(partition, **INSTANCE)]),
        writer.write(
            "time-sliced",
            with_hooks,
            real,
            [_planned("gpu-0", share_id=f"88888888-0000-4000-8000-00000000000{n}") for n in "12"],
        ),
        writer.write(
            "mps", with_hooks, real, [_planned("gpu-0")], extra={"gpu-0": mps.edits(MPS_ID)}
        ),
        writer.write(
            "admin",
            with_hooks,
            real,
            [
                _planned("gpu-0", admin_access=True),
                _planned(partition, admin_access=True, **INSTANCE),
            ],
        ),
        writer.write(
            "simulated", simulated, an_inventory(), [_planned("gpu-0"), _planned("gpu-1")]
        ),
        writer.write(
            "simulated-mig",
            simulated,
            a_mig_inventory(),
            [_planned(simulated_partition, admin_access=True)],
        ),
    )


@dataclass(slots=True)
class _Writer:
    directory: Path
    number: int = 0

    def write(
        self,
        profile: str,
        edits: EditsSource,
        inventory: Inventory,
        planned: Iterable[PlannedDevice],
        *,
        extra: Mapping[str, ContainerEdits] | None = None,
    ) -> ClaimFile:
        # Every second UID begins with a digit, as those of claims do.
        self.number += 1
        uid = f"{'7d'[self.number % 2]}7777777-0000-4000-8000-0000000000{self.number:02}"
        store = CdiStore(self.directory, DRIVER)
        devices = [
            replace(one, cdi_name=device_name(uid, one.device, share_id=one.share_id))
            for one in planned
        ]
        Injection(store, edits).ensure(
            uid,
            devices,
            inventory=inventory,
            extra={device_name(uid, name): more for name, more in (extra or {}).items()},
        )
        path = store.path_of(uid)
        ids = tuple(dict.fromkeys(qualified_name(DRIVER, one.cdi_name) for one in devices))
        return ClaimFile(profile, path, json.loads(path.read_text()), ids)


def _planned(device: str, **fields: object) -> PlannedDevice:
    given: dict[str, object] = {
        "requests": ("gpu",),
        "pool": "node-1",
        "device": device,
        "cdi_name": "",
        "parent_uuid": None,
        "uuid": None,
        **fields,
    }
    return PlannedDevice(**given)  # type: ignore[arg-type] # the caller gives the fields' own types


def _real_inventory() -> Inventory:
    partitioned = a_mig_inventory().devices[0].gpu
    gpus = (
        a_gpu(0, mig_mode=MigMode.DISABLED, pci_bus_id=BUS_ID),
        replace(partitioned, minor=1, uuid="GPU-1", pci_bus_id="0000:01:00.0"),
    )
    return Inventory.of(gpus, source=Source.NVML)
