"""Thousands of random lives of a node: pods, kubelet, agent and hardware, in any order.

Nothing is ever in use twice, and in the end nothing is left: no entry, no file, no partition
(node-agent.md 9, point 4). `make node-lives` lives ten thousand (`DRA_NODE_SEQUENCES`), and each
failure names the seed that repeats it (`DRA_NODE_SEED`).
"""

import os
import random
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations, count
from pathlib import Path
from typing import Any

import pytest
import structlog

from nodeagent.claims.entry import State
from nodeagent.claims.garbage import sweep
from nodeagent.claims.repair import repair_claims
from nodeagent.devices.model import Device, Gpu, Inventory, Reading, Source
from nodeagent.devices.profiles import gpus
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_gpu, reference_to
from tests.builders.objects import DRIVER, a_result, an_allocated_claim
from tests.unit.nodeagent.kubelet_model import Kubelet, devices_of, exclude_each_other

pytestmark = pytest.mark.long

SEQUENCES = int(os.environ.get("DRA_NODE_SEQUENCES", "200"))
FIRST_SEED = int(os.environ.get("DRA_NODE_SEED", str(random.randrange(2**31))))
STEPS = 14
NODE = "mig-01"
OPERATIONS = ("replace", "link", "unlink")
EFFECTS = ("create_partition", "destroy_partition", "set_time_slice")
A_DAY = timedelta(days=1)

_boards: tuple[Gpu, ...] = (
    *gpus("a100x2-mig", node_name=NODE),
    a_gpu(7, pci_bus_id="0000:f0:00.0"),
)


class PowerCutError(BaseException):
    """Not an `Exception`: nothing in the agent gets to handle it."""


class Life:
    """One node from its first boot on."""

    def __init__(
        self,
        directory: Path,
        chance: random.Random,
        *,
        boards: tuple[Gpu, ...] = _boards,
        node: Callable[..., AgentNode] = AgentNode,
    ) -> None:
        self.chance = chance
        self.clock = datetime.now(UTC)
        self.boards = boards
        self.inventory = Inventory.of(boards, source=Source.SIMULATED)
        self.node = node(directory, inventory=self.inventory, pool=NODE, now=lambda: self.clock)
        self.kubelet = Kubelet(self.node)
        self.allocated: dict[str, JsonObject] = {}
        """By claim UID; what is force-deleted is not here any more."""

        self._numbers = count()
        self._boots = count(2)

    def step(self) -> None:
        """Let something happen."""
        happening = self.chance.choices(
            (
                self.start_pod, self.stop_pod, self.delete_by_force, self.share, self.sync,
                self.restart_agent, self.restart_kubelet, self.reboot, self.lose_files,
                self.cut_power, self.toggle_use, self.toggle_api, self.pass_time,
            ),
            weights=(30, 15, 6, 6, 10, 6, 5, 2, 3, 8, 4, 3, 2),
        )[0]  # fmt: skip
        happening()

    def start_pod(self) -> None:
        free = [device for device in self.inventory.devices if self.is_free(device)]
        # Schedulers have given a device away twice: now and then one that is taken.
        choices = free if free and self.chance.random() < 0.85 else list(self.inventory.devices)
        # Of a whole GPU several claims may have shares.
        choices += [one for one in self.inventory.devices if one.partition is None] * 6
        devices = self.chance.sample(choices, min(len(choices), self.chance.choice((1, 1, 2))))
        if any(exclude_each_other(*pair) for pair in combinations(devices, 2)):
            devices = devices[:1]
        number = next(self._numbers)
        claim = self.a_claim(f"claim-{number}", devices)
        self.node.claims.put(claim)
        self.allocated[reference_to(claim).uid] = claim
        self.kubelet.start(f"pod-{number}", claim)

    def stop_pod(self) -> None:
        if self.kubelet.pods:
            pod = self.chance.choice(sorted(self.kubelet.pods))
            uid = self.kubelet.pods[pod]
            self.kubelet.stop(pod)
            if uid not in self.kubelet.pods.values() and uid not in self.kubelet.claims:
                self.deallocate(uid)

    def delete_by_force(self) -> None:
        """Let the API server forget a claim while kubelet has yet to undo it."""
        if self.kubelet.pods:
            pod = self.chance.choice(sorted(self.kubelet.pods))
            uid = self.kubelet.pods.pop(pod)
            if uid not in self.kubelet.pods.values():
                self.deallocate(uid)

    def share(self) -> None:
        if self.kubelet.pods:
            uid = self.chance.choice(sorted(self.kubelet.pods.values()))
            if uid in self.allocated:
                self.kubelet.start(f"pod-{next(self._numbers)}", self.allocated[uid])

    def sync(self) -> None:
        self.kubelet.sync()
        repair_claims(self.node.execution, inventory=self.node.inventory)

    def restart_agent(self) -> None:
        self.node.restart()

    def restart_kubelet(self) -> None:
        self.kubelet.restart()
        self.kubelet.sync()

    def reboot(self) -> None:
        self.node.restart(boot_id=f"boot-{next(self._boots)}")
        self.kubelet.restart()

    def lose_files(self) -> None:
        for path in (self.node.directory / "cdi").iterdir():
            path.unlink()
        repair_claims(self.node.execution, inventory=self.node.inventory)

    def cut_power(self) -> None:
        """Let the agent die at some operation of the next step, and start again."""
        with cut_after(self.chance.randrange(24), self.node), suppress(PowerCutError):
            self.chance.choice((self.start_pod, self.stop_pod, self.sync))()
        self.node.restart()

    def toggle_use(self) -> None:
        """Let processes hold all partitions, or let go of them."""
        if self.node.boards.in_use:
            self.node.boards.in_use.clear()
        else:
            self.node.boards.in_use.update(
                instance.uuid
                for gpu in self.boards
                for instance in self.node.boards.instances(gpu.uuid)
            )

    def toggle_api(self) -> None:
        self.node.claims.is_reachable = not self.node.claims.is_reachable

    def pass_time(self) -> None:
        """Let the garbage collector look twice, long after everything."""
        for _ in range(2):
            self.clock += A_DAY
            sweep(self.node.preparer, abandonment=self.node.abandonment, now=self.clock)

    def deallocate(self, uid: str) -> None:
        claim = self.allocated.pop(uid, None)
        if claim is not None:
            self.node.claims.remove(claim)

    def is_free(self, device: Device) -> bool:
        held = (one for claim in self.allocated.values() for one in devices_of(claim, self.node))
        return not any(exclude_each_other(device, one) for one in held)

    def a_claim(self, name: str, devices: list[Device]) -> JsonObject:
        results = [
            a_result(
                device.name, request=f"r{index}/alternative", pool=NODE, **self.a_share(device)
            )
            for index, device in enumerate(devices)
        ]
        claim: Any = an_allocated_claim(name, results=results, pods=("pod",))
        if self.chance.random() < 0.5:
            claim["status"]["allocation"]["devices"]["config"] = [a_time_slice()]
        made: JsonObject = claim
        return made

    def a_share(self, device: Device) -> dict[str, Any]:
        """Let a claim have a part of a whole GPU now and then."""
        if device.partition is not None or self.chance.random() < 0.4:
            return {}
        share = uuid.UUID(int=self.chance.getrandbits(128), version=4)
        return {"shareID": str(share), "consumedCapacity": {"memory": "30Gi"}}

    def check(self) -> None:
        """Hold what there is against the hardware's rules and against each other."""
        entries = self.node.preparer.ledger.entries
        completed = {uid: one for uid, one in entries.items() if one.state is State.COMPLETED}
        held = [
            (uid, device, planned.share_id)
            for uid, entry in entries.items()
            if entry.holds_devices
            for planned in entry.devices
            for device in (self.inventory.find(planned.device),)
            if device is not None
        ]
        for (one_uid, one, share), (other_uid, other, other_share) in combinations(held, 2):
            are_shares = one.name == other.name and share and other_share and share != other_share
            is_well = one_uid == other_uid or are_shares or not exclude_each_other(one, other)
            assert is_well, "double use"
        shares = Counter(device.name for _, device, share in held if share)
        assert all(count <= 2 for count in shares.values()), "more than the GPU's memory is granted"
        assert set(self.node.preparer.injection.store.claim_uids()) == set(completed)
        promised = self.kubelet.prepared & set(self.kubelet.pods.values())
        assert promised <= set(completed), "a promise is broken"
        made = {place for entry in completed.values() for place in places(entry.devices)}
        known = {
            place for entry in entries.values() if entry.holds_devices
            for place in places(entry.devices)
        }  # fmt: skip
        there = {
            (gpu.uuid, instance.profile_id, instance.start)
            for gpu in self.boards
            for instance in self.node.boards.instances(gpu.uuid)
        }
        assert made <= there <= known, "partitions and entries differ"
        used = {device.gpu.uuid for _, device, _ in held}
        for gpu in self.boards:
            is_default = self.node.boards.board(gpu.uuid).time_slice == 0
            assert is_default or gpu.uuid in used, "a time slice is left"

    def end(self) -> None:
        """Let all pods go, in a world where everything works again, and look what is left."""
        self.node.claims.is_reachable = True
        self.node.boards.in_use.clear()
        self.kubelet.pods.clear()
        self.kubelet.sync()
        assert self.kubelet.claims == {}, "kubelet cannot get rid of a claim"
        for uid in list(self.allocated):
            self.deallocate(uid)
        for device in self.inventory.devices:
            self.node.readings[device.name] = Reading(device=device.name, uuid="", process_count=0)
        self.pass_time()
        states = {entry.state for entry in self.node.preparer.ledger.entries.values()}
        assert states <= {State.UNPREPARED}, f"entries are left: {states}"
        assert list(self.node.preparer.injection.store.claim_uids()) == []
        for gpu in self.boards:
            board = self.node.boards.board(gpu.uuid)
            assert (board.instances, board.time_slice) == ((), 0), "hardware is not as it was"


def a_time_slice() -> JsonObject:
    return {
        "source": "FromClass",
        "opaque": {
            "driver": DRIVER,
            "parameters": {
                "apiVersion": "resource.nvidia.com/v1beta1",
                "kind": "GpuConfig",
                "sharing": {
                    "strategy": "TimeSlicing",
                    "timeSlicingConfig": {"interval": "Short"},
                },
            },
        },
    }


def places(devices: tuple[Any, ...]) -> Iterator[tuple[str, int, int]]:
    for device in devices:
        if device.makes_partition:
            yield device.parent_uuid, device.mig_profile_id, device.mig_start


@contextmanager
def cut_after(operations: int, node: AgentNode) -> Iterator[None]:
    """Let every operation after so many fail as if there were no power."""
    left = operations

    def counted(operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise PowerCutError
            return operation(*arguments, **options)

        return run

    with pytest.MonkeyPatch.context() as patched:
        for name in OPERATIONS:
            patched.setattr(os, name, counted(getattr(os, name)))
        for name in EFFECTS:
            patched.setattr(node.boards, name, counted(getattr(node.boards, name)))
        yield


@pytest.mark.timeout(max(300, SEQUENCES))
def test_no_sequence_uses_a_device_twice_or_leaks_an_entry_a_file_or_a_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nobody pulls the plug of this machine: waiting for its disk proves nothing.
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    refused = 0
    with structlog.testing.capture_logs() as logs, tempfile.TemporaryDirectory() as root:
        for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
            life = Life(Path(root) / str(seed), random.Random(seed))
            try:
                for _ in range(STEPS):
                    life.step()
                    life.check()
                life.end()
            except AssertionError as error:
                pytest.fail(f"DRA_NODE_SEED={seed}: {error}")
            refused += sum(line["event"] == "claim refused" for line in logs)
            logs.clear()
    assert refused > SEQUENCES / 4, "hardly anything went wrong: this proves little"
