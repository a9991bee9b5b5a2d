"""A node as the agent sees it: its devices, its claims, and an agent's parts on real files."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from nodeagent.cdi.edits import EditsSource, SimulatedEdits
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.cdi.store import CdiStore
from nodeagent.claims.abandoned import Abandonment
from nodeagent.claims.describing import Attributes, Describing
from nodeagent.claims.effects import Effects
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.claims.execution import Execution
from nodeagent.claims.injection import Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.mps import MpsDaemons
from nodeagent.claims.preparer import Outcome, Preparer
from nodeagent.claims.reading import ClaimReference
from nodeagent.claims.recovery import Recovered, recover
from nodeagent.claims.sharing import Strategy
from nodeagent.devices.control import Instance
from nodeagent.devices.model import Device, Gpu, Inventory, Reading, Source
from nodeagent.devices.profiles import gpus
from nodeagent.devices.simulated_mig import SimulatedMig
from nodeagent.fields import JsonObject
from nodeagent.kube.errors import NotFoundError, NotServedError, UnreachableError
from nodeagent.kube.resources import Listed
from tests.builders.objects import DRIVER, NODE, an_allocated_claim

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


def a_gpu(minor: int = 0, **facts: object) -> Gpu:
    defaults: dict[str, object] = {
        "minor": minor,
        "uuid": f"GPU-{minor}",
        "memory_bytes": 80 << 30,
        "pci_bus_id": f"0000:{minor:02x}:00.0",
    }
    return Gpu(**{**defaults, **facts})  # type: ignore[arg-type] # the test gives the facts' own types


def an_inventory(*names: str) -> Inventory:
    """Give each name a GPU of its own; without names, two GPUs under their own names."""
    if not names:
        return Inventory.of([a_gpu(0), a_gpu(1)], source=Source.SIMULATED)
    devices = tuple(Device(name, a_gpu(minor)) for minor, name in enumerate(names))
    return Inventory(devices, Source.SIMULATED)


def a_mig_inventory(node_name: str = "mig-01") -> Inventory:
    return Inventory.of(gpus("a100x2-mig", node_name=node_name), source=Source.SIMULATED)


def a_planned_device(device: str = "gpu-0", **fields: object) -> PlannedDevice:
    defaults: dict[str, object] = {
        "requests": ("gpu",),
        "pool": NODE,
        "device": device,
        "cdi_name": f"uid-1-{device}",
        "parent_uuid": f"GPU-{device}",
        "uuid": f"GPU-{device}",
    }
    return PlannedDevice(**{**defaults, **fields})  # type: ignore[arg-type] # the test gives the fields' own types


def an_entry(uid: str = "uid-1", *devices: PlannedDevice, **fields: object) -> Entry:
    defaults: dict[str, object] = {
        "uid": uid,
        "namespace": "team-research",
        "name": f"claim-{uid}",
        "state": State.COMPLETED,
        "resource_version": "7",
        "changed_at": NOW,
        "devices": devices or (a_planned_device(cdi_name=f"{uid}-gpu-0"),),
    }
    return Entry(**{**defaults, **fields})  # type: ignore[arg-type] # the test gives the fields' own types


def resealed(checkpoint: bytes, **members: object) -> bytes:
    """Change members of a checkpoint the way another agent would: with a fitting checksum."""
    written = {**json.loads(checkpoint), **members}
    written.pop("checksum")
    canonical = json.dumps(written, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps({**written, "checksum": f"sha256:{digest}"}).encode()


def a_claim_of_pod(*results: JsonObject, name: str = "train") -> JsonObject:
    """Build a claim that is allocated to devices of the node and reserved for a pod."""
    return an_allocated_claim(name, results=list(results), pods=("pod",))


def reference_to(claim: JsonObject) -> ClaimReference:
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    return ClaimReference(str(metadata["namespace"]), str(metadata["name"]), str(metadata["uid"]))


@dataclass(slots=True)
class Claims:
    """The claims of an API server, in memory."""

    by_name: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    is_reachable: bool = True
    is_served: bool = True
    """Whether the server has the kind in the version that is asked for."""

    def put(self, *claims: JsonObject) -> None:
        for claim in claims:
            reference = reference_to(claim)
            self.by_name[reference.namespace, reference.name] = claim

    def remove(self, claim: JsonObject) -> None:
        reference = reference_to(claim)
        del self.by_name[reference.namespace, reference.name]

    def claim(self, namespace: str, name: str) -> JsonObject:
        if not self.is_reachable:
            raise UnreachableError("connection refused")
        if not self.is_served:
            raise NotServedError(404, "the server could not find the requested resource")
        try:
            return self.by_name[namespace, name]
        except KeyError:
            raise NotFoundError(404, f"{namespace}/{name}") from None

    def claims(self) -> Listed:
        if not self.is_reachable:
            raise UnreachableError("connection refused")
        return Listed(tuple(self.by_name.values()), "1")


class Boards(SimulatedMig):
    """A node's hardware. Implements `GpuControl`."""

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        return self.board(gpu_uuid).instances


@dataclass(slots=True)
class AgentNode:
    """One node's directories, and the parts of an agent that work on claims there."""

    directory: Path
    inventory: Inventory = field(default_factory=an_inventory)
    driver: str = DRIVER
    pool: str = NODE
    edits: EditsSource = field(default_factory=SimulatedEdits)
    claims: Claims = field(default_factory=Claims)
    boot_id: str = "boot-1"
    readings: dict[str, Reading] = field(default_factory=dict)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    keeps_boards: bool = False
    """Whether the boards' state outlives this process."""

    offered: frozenset[Strategy] = frozenset(Strategy)
    attributes: Attributes | None = None
    """What containers are told of a device; nothing unless given."""

    mps_control: str = "/nonexistent/nvidia-cuda-mps-control"
    boards: Boards = field(init=False)
    """What stays of the hardware while agents come and go."""

    execution: Execution = field(init=False)
    preparer: Preparer = field(init=False)
    abandonment: Abandonment = field(init=False)
    _is_up: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        for name in ("cdi", "plugin"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self._power_up()
        self.restart()

    def _end(self) -> None:
        if self._is_up:
            self.preparer.preparing.close()
            self.preparer.unpreparing.close()
            self.preparer.read_pool.shutdown(wait=False)
        self._is_up = True

    def _power_up(self) -> None:
        gpus = {device.gpu.uuid: device.gpu for device in self.inventory.devices}
        file = self.directory / "boards.json" if self.keeps_boards else None
        self.boards = Boards(gpus, file=file, boot_id=self.boot_id)

    def restart(self, *, boot_id: str | None = None) -> Recovered:
        """Begin again with nothing but what is on disk."""
        self._end()
        if boot_id is not None:
            self.boot_id = boot_id
            self._power_up()
        ledger = Ledger(self.directory / "plugin", boot_id=self.boot_id)
        injection = Injection(CdiStore(self.directory / "cdi", self.driver), self.edits)
        mps = MpsDaemons(directory=self.directory / "plugin/mps", executable=self.mps_control)
        self.execution = Execution(
            ledger=ledger,
            injection=injection,
            describing=Describing(
                files=MetadataFiles(self.directory / "plugin", self.directory / "cdi", self.driver),
                attributes=self.attributes,
            ),
            effects=Effects(control=self.boards, mps=mps),
            inventory=lambda: self.inventory,
        )
        self.abandonment = Abandonment(
            self.claims, lambda: self.readings, lambda: self.inventory, now=self.now
        )
        self.preparer = Preparer(
            execution=self.execution,
            reader=self.claims,
            read_pool=ThreadPoolExecutor(2),
            is_abandoned=self.abandonment.is_abandoned,
            driver=self.driver,
            pool=self.pool,
            offered=self.offered,
        )
        return recover(
            self.execution,
            claims=lambda: self.claims.claims().items,
            driver=self.driver,
            pool=self.pool,
            now=datetime.now(UTC),
        )

    def prepare(self, claim: JsonObject) -> Outcome:
        reference = reference_to(claim)
        return self.preparer.prepare([reference])[reference.uid]

    def unprepare(self, claim: JsonObject) -> str | None:
        reference = reference_to(claim)
        return self.preparer.unprepare([reference])[reference.uid]

    def cdi_file(self, claim: JsonObject) -> Path:
        return self.preparer.injection.store.path_of(reference_to(claim).uid)

    def entry(self, claim: JsonObject) -> Entry | None:
        return self.preparer.ledger.entries.get(reference_to(claim).uid)
