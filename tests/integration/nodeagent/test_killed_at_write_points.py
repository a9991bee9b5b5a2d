"""A whole agent, killed right after each write of a claim's life, and started again.

Every single operation is tried on the claims room alone (`test_killed_at_each_point`); here the
same holds for the process that kubelet calls (node-agent.md 2.3, 9 point 3).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from nodeagent.fields import JsonObject
from tests.builders.objects import DRIVER
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, KubeletSide, uid_of

pytestmark = pytest.mark.long

DEVICES = ("gpu-0-mig-3g20gb-9-4", "gpu-0-mig-1g5gb-19-0")
NEVER = "replace never-there 1"
CDI_FILE = "k8s.{driver}-claim_{uid}.json"
POINTS = [
    ("prepare", "replace checkpoint.json 1", "the plan is written"),
    ("prepare", "create_partition - 1", "the first partition is made"),
    ("prepare", "replace checkpoint.json 2", "the first partition is written down"),
    ("prepare", "create_partition - 2", "the second partition is made"),
    ("prepare", "replace checkpoint.json 3", "the second partition is written down"),
    ("prepare", f"replace {CDI_FILE} 1", "the CDI file is written"),
    ("prepare", "replace checkpoint.json 4", "the answer is written"),
    ("unprepare", "replace checkpoint.json 1", "the intention is written"),
    ("unprepare", f"unlink {CDI_FILE} 1", "the CDI file is removed"),
    ("unprepare", "destroy_partition - 1", "the first partition is destroyed"),
    ("unprepare", "destroy_partition - 2", "the second partition is destroyed"),
    ("unprepare", "replace checkpoint.json 2", "the tombstone is written"),
]


@dataclass(slots=True)
class Doomed:
    """An agent that starts again and again on one node, each time to die somewhere."""

    agent: AgentProcess
    boot_id: int = 1

    def start(self, point: str = NEVER, *, uid: str = "") -> None:
        root = self.agent.kubelet_root
        self.armed.unlink(missing_ok=True)
        (root / "boot").write_text(f"boot-{self.boot_id}\n")
        self.agent.environment = {
            "DOOMED": point.format(driver=DRIVER, uid=uid),
            "DOOMED_WHEN": str(self.armed),
            "DOOMED_BOOT_ID": str(root / "boot"),
        }
        self.agent.start()
        self.agent.wait_until_it_serves()

    @property
    def armed(self) -> Path:
        return self.agent.kubelet_root / "armed"

    def call(self, verb: str, claim: JsonObject) -> None:
        """Call as kubelet does; the agent dies of it."""
        self.armed.touch()
        kubelet = KubeletSide(self.agent)
        with pytest.raises(grpc.RpcError):
            kubelet.prepare(claim) if verb == "prepare" else kubelet.unprepare(claim)
        assert self.agent.process.wait(10) == -9

    def partitions(self) -> set[str]:
        """Return the UUIDs of the partitions on the boards; a reboot leaves none."""
        file = self.agent.checkpoint.parent / "simulated-boards.json"
        if not file.exists():
            return set()
        written: Any = json.loads(file.read_text())
        if written["bootID"] != f"boot-{self.boot_id}":
            return set()
        return {one["uuid"] for board in written["boards"].values() for one in board["instances"]}

    def check(self) -> set[str]:
        """Hold checkpoint, CDI files and boards against each other; return who is prepared."""
        claims: Any = json.loads(self.agent.checkpoint.read_text())["claims"]
        completed = {uid for uid, claim in claims.items() if claim["state"] == "completed"}
        assert {one["state"] for one in claims.values()} <= {
            "completed",
            "unprepared",
            "stale-boot",
        }
        assert self.agent.cdi_files() == completed
        planned = {device["uuid"] for uid in completed for device in claims[uid]["devices"]}
        assert self.partitions() == planned
        return completed


def test_a_whole_agent_killed_at_each_write_keeps_its_promises(
    new_agent: Callable[..., AgentProcess], api_server: ApiServer
) -> None:
    agent = new_agent("a100x2-mig")
    agent.module = "tests.integration.nodeagent.doomed"
    doomed = Doomed(agent)
    claim = api_server.allocate("doomed", *DEVICES, node=agent.node)
    uid = uid_of(claim)

    doomed.start(POINTS[0][1], uid=uid)
    following = [point for _, point, _ in POINTS[1:]] + [NEVER]

    for (verb, _, after), next_point in zip(POINTS, following, strict=True):
        kubelet = KubeletSide(agent)
        if verb == "unprepare":
            assert kubelet.prepare(claim)[uid].error == "", after
        doomed.call(verb, claim)

        doomed.start(next_point, uid=uid)
        is_prepared = doomed.check() == {uid}
        assert is_prepared == (after == "the answer is written"), after
        claim = api_server.touch(claim)
        assert kubelet.prepare(claim)[uid].error == "", after
        assert doomed.check() == {uid}, after
        assert kubelet.unprepare(claim) == {uid: ""}, after
        assert doomed.check() == set(), after
        claim = api_server.touch(claim)


@pytest.mark.parametrize(("verb", "point"), [POINTS[4][:2], POINTS[9][:2]])
def test_a_reboot_after_the_kill_leaves_nothing_and_the_claim_can_be_prepared_again(
    new_agent: Callable[..., AgentProcess], api_server: ApiServer, verb: str, point: str
) -> None:
    agent = new_agent("a100x2-mig")
    agent.module = "tests.integration.nodeagent.doomed"
    doomed = Doomed(agent)
    claim = api_server.allocate(f"rebooted-{agent.node}", *DEVICES, node=agent.node)
    uid = uid_of(claim)
    doomed.start(point, uid=uid)
    if verb == "unprepare":
        assert KubeletSide(agent).prepare(claim)[uid].error == ""
    doomed.call(verb, claim)

    doomed.boot_id = 2
    doomed.start()

    assert agent.cdi_files() == set()
    assert doomed.check() == set()
    assert KubeletSide(agent).prepare(claim)[uid].error == ""
    assert doomed.check() == {uid}
    assert KubeletSide(agent).unprepare(claim) == {uid: ""}
    assert doomed.partitions() == set()
