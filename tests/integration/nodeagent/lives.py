"""Short lives of an agent's claims room, each a process of its own that may be killed.

`python -m tests.integration.nodeagent.lives` reads one life a line from standard input:

    {"directory": "...", "boot_id": "boot-1", "steps": [["prepare", "pair"], ...],
     "version": 1, "kill_at": 17}

It forks for each, and the child starts an agent on the directory and takes the steps. Every
operation on the disk and on the hardware counts; before the one whose number is `kill_at` the
child ends itself by SIGKILL. What it told until then stands on standard output as one line: what
was asked and answered, what there is after the start and at the end, and how many operations
there were. Forking saves the start of an interpreter for each of some hundred lives.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import structlog

from nodeagent.claims.entry import UNSETTLED, State
from nodeagent.devices.model import Gpu, Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod, a_gpu, reference_to
from tests.builders.objects import DRIVER, a_result

NODE = "mig-01"
DISK = ("replace", "link", "unlink")
"""What changes the disk. A kill before an fsync leaves what one before the rename after it does."""

HARDWARE = ("create_partition", "destroy_partition", "set_time_slice", "set_compute_mode")


def boards() -> tuple[Gpu, ...]:
    """Two boards that are cut up for claims, and one that is used whole."""
    whole = a_gpu(7, compute_capability="9.0", pci_bus_id="0000:f0:00.0")
    return (*gpus("a100x2-mig", node_name=NODE), whole)


def a_sliced_claim(name: str, device: str, interval: str) -> JsonObject:
    claim: Any = a_claim_of_pod(a_result(device, pool=NODE), name=name)
    claim["status"]["allocation"]["devices"]["config"] = [
        {
            "source": "FromClaim",
            "requests": ["gpu"],
            "opaque": {
                "driver": DRIVER,
                "parameters": {
                    "apiVersion": "config.dra-console.io/v1",
                    "kind": "GpuConfig",
                    "sharing": {
                        "strategy": "TimeSlicing",
                        "timeSlicingConfig": {"interval": interval},
                    },
                },
            },
        }
    ]
    sliced: JsonObject = claim
    return sliced


CLAIMS: dict[str, JsonObject] = {
    "pair": a_claim_of_pod(
        a_result("gpu-0-mig-3g20gb-9-4", pool=NODE, request="large"),
        a_result("gpu-0-mig-1g5gb-19-0", pool=NODE, request="small"),
        name="pair",
    ),
    "rival": a_claim_of_pod(a_result("gpu-0-mig-2g10gb-14-4", pool=NODE), name="rival"),
    "sliced": a_sliced_claim("sliced", "gpu-7", "Long"),
}


def versioned(claim: JsonObject, version: int) -> JsonObject:
    """Return a claim as a pod that comes back changes it."""
    metadata: Any = claim["metadata"]
    return {**claim, "metadata": {**metadata, "resourceVersion": str(version)}}


@dataclass(slots=True)
class Killer:
    """Counts operations and ends the process at one of them."""

    kill_at: int | None
    count: int = 0

    def pass_by(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: object, **options: object) -> object:
            self.pass_by()
            return operation(*arguments, **options)

        return run


def a_node(directory: Path, boot_id: str, version: int) -> AgentNode:
    """Start an agent on what an earlier life has left."""
    node = AgentNode(
        directory,
        inventory=Inventory.of(boards(), source=Source.SIMULATED),
        pool=NODE,
        boot_id=boot_id,
        keeps_boards=True,
    )
    node.claims.put(*(versioned(claim, version) for claim in CLAIMS.values()))
    return node


def live(life: dict[str, Any], answer: int) -> NoReturn:
    """Take the steps of one life and tell each outcome at once."""

    def tell(*words: object) -> None:
        os.write(answer, json.dumps(words).encode() + b"\n")

    killer = Killer(life.get("kill_at"))
    # A kill leaves the kernel's view of the disk whole; only a power cut needs the waiting.
    setattr(os, "fsync", lambda _descriptor: None)  # noqa: B010 - for good: the process ends soon
    for name in DISK:
        setattr(os, name, killer.counted(getattr(os, name)))
    node = a_node(Path(life["directory"]), life["boot_id"], life["version"])
    for name in HARDWARE:
        setattr(node.boards, name, killer.counted(getattr(node.boards, name)))
    tell("state", state_of(node))
    for verb, name in life["steps"]:
        tell("asked", name)
        if verb == "prepare":
            outcome = node.prepare(versioned(CLAIMS[name], life["version"]))
            tell(name, isinstance(outcome, tuple), str(outcome))
        else:
            refused = node.unprepare(CLAIMS[name])
            tell(name, refused is not None, str(refused))
    tell("state", state_of(node))
    tell("operations", killer.count)
    os._exit(0)


def state_of(node: AgentNode) -> dict[str, object]:
    """Say what the checkpoint, the CDI directory and the hardware hold."""
    entries = node.preparer.ledger.entries.values()
    completed = [entry for entry in entries if entry.state is State.COMPLETED]
    names = {reference_to(claim).uid: name for name, claim in CLAIMS.items()}
    kept = {gpu.uuid: node.boards.board(gpu.uuid) for gpu in boards()}
    return {
        "completed": sorted(names[entry.uid] for entry in completed),
        "half_done": sorted(names[entry.uid] for entry in entries if entry.state in UNSETTLED),
        "files": sorted(names[uid] for uid in node.preparer.injection.store.claim_uids()),
        "planned_partitions": sorted(
            f"{one.parent_uuid} {one.mig_profile_id} {one.mig_start} {one.uuid}"
            for entry in completed
            for one in entry.devices
            if one.makes_partition
        ),
        "partitions": sorted(
            f"{gpu_uuid} {one.profile_id} {one.start} {one.uuid}"
            for gpu_uuid, board in kept.items()
            for one in board.instances
        ),
        "time_slice": kept["GPU-7"].time_slice,
    }


def main() -> None:
    """Fork one life after the other."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            live(json.loads(line), writing)
        os.close(writing)
        with os.fdopen(reading) as told:
            words = [json.loads(said) for said in told]
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, f"the child ended with {status}"
        sys.stdout.write(json.dumps({"killed": killed, "told": words}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
