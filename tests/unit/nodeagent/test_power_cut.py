"""The agent dies at each single operation on the disk, one after the other, and starts again.

What kubelet was told must hold afterwards, and nothing may be half there.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.claims.entry import State
from nodeagent.fields import JsonObject
from tests.builders.agents import AgentNode, a_claim_of_pod, an_inventory, reference_to
from tests.builders.objects import a_result

DISK_OPERATIONS = ("fsync", "replace", "rename", "link", "unlink", "open")
CLAIMS = {
    "a": a_claim_of_pod(a_result("gpu-0"), name="a"),
    "b": a_claim_of_pod(a_result("gpu-1"), name="b"),
    "ab": a_claim_of_pod(a_result("gpu-0"), a_result("gpu-1"), name="ab"),
}


class PowerCutError(BaseException):
    """Not an `Exception`: nothing in the agent gets to handle it."""


@dataclass
class Disk:
    """Counts operations; lets the power go before a given one."""

    cut_before: int | None = None
    count: int = 0

    def operation(self, original: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **options: object) -> object:
            if self.count == self.cut_before:
                raise PowerCutError
            self.count += 1
            return original(*arguments, **options)

        return counted


@contextmanager
def counted_disk(disk: Disk) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name in DISK_OPERATIONS:
            patched.setattr(os, name, disk.operation(getattr(os, name)))
        yield


def run(node: AgentNode, steps: list[tuple[str, str]]) -> tuple[set[str], set[str], bool]:
    """Return what kubelet holds for prepared, for unprepared, and whether the agent lived."""
    held: set[str] = set()
    let_go: set[str] = set()
    for verb, name in steps:
        try:
            if verb == "prepare":
                is_done = isinstance(node.prepare(CLAIMS[name]), tuple)
            else:
                is_done = node.unprepare(CLAIMS[name]) is None
        except PowerCutError:
            held.discard(name)
            let_go.discard(name)
            return held, let_go, False
        if is_done:
            (held if verb == "prepare" else let_go).add(name)
            (let_go if verb == "prepare" else held).discard(name)
    return held, let_go, True


def check(node: AgentNode, held: set[str], let_go: set[str]) -> None:
    entries = node.preparer.ledger.entries
    completed = {uid: entry for uid, entry in entries.items() if entry.state is State.COMPLETED}
    files = set(node.preparer.injection.store.claim_uids())
    devices = [device.device for entry in completed.values() for device in entry.devices]

    assert len(devices) == len(set(devices)), "a device is held twice"
    assert set(completed) == files, "entries and files differ"
    assert {reference_to(CLAIMS[name]).uid for name in held} <= set(completed), "a claim is lost"
    assert not {reference_to(CLAIMS[name]).uid for name in let_go} & set(completed), "a leak"


def fresh(claim: JsonObject, version: int) -> JsonObject:
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    return {**claim, "metadata": {**metadata, "resourceVersion": str(version)}}


def a_node(directory: Path) -> AgentNode:
    node = AgentNode(directory, inventory=an_inventory())
    node.claims.put(*CLAIMS.values())
    return node


def survives(steps: list[tuple[str, str]], *, cut_before: int | None) -> int:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patched:
        # Hundreds of lives on a disk that nobody pulls the plug of: waiting proves nothing.
        patched.setattr(os, "fsync", lambda _descriptor: None)
        node = a_node(Path(directory))
        disk = Disk(cut_before)
        with counted_disk(disk):
            held, let_go, _ = run(node, steps)

        node.restart()
        check(node, held, let_go)

        # Kubelet asks again for what it had no answer to, and in the end all is undone.
        node.claims.put(*(fresh(claim, 2) for claim in CLAIMS.values()))
        held_again, let_go_again, is_alive = run(node, AFTERWARDS)
        assert is_alive
        check(node, held_again, let_go_again)
        run(node, [("unprepare", name) for name in CLAIMS])
        check(node, set(), set(CLAIMS))
    return disk.count


STORY = [
    ("prepare", "a"),
    ("unprepare", "a"),
    ("prepare", "ab"),
    ("prepare", "b"),
    ("unprepare", "ab"),
]
AFTERWARDS = [("unprepare", "a"), ("prepare", "b"), ("unprepare", "ab"), ("prepare", "ab")]


def test_a_cut_before_any_operation_loses_no_claim_and_leaks_none() -> None:
    operations = survives(STORY, cut_before=None)

    assert operations > 50
    for cut_before in range(operations):
        survives(STORY, cut_before=cut_before)


steps = st.lists(
    st.tuples(st.sampled_from(["prepare", "unprepare"]), st.sampled_from(sorted(CLAIMS))),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(steps, st.integers(0, 80))
def test_no_sequence_of_calls_is_special(steps: list[tuple[str, str]], cut_before: int) -> None:
    survives(steps, cut_before=cut_before)
