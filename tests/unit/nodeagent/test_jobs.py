"""Kubelet is answered in time, whatever the work takes."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nodeagent.claims import ledger as ledger_module
from nodeagent.claims import preparer as preparer_module
from nodeagent.claims import reading
from nodeagent.claims.entry import State
from nodeagent.claims.jobs import Jobs
from nodeagent.claims.metrics import LOCK_TIMEOUTS
from nodeagent.devices.control import Instance
from nodeagent.fields import JsonObject
from tests.builders.agent_claims import known, reason
from tests.builders.agents import AgentNode, a_mig_inventory, reference_to

SMALL = "gpu-0-mig-1g5gb-19-0"


@pytest.fixture
def node(tmp_path: Path) -> AgentNode:
    return AgentNode(tmp_path, inventory=a_mig_inventory(), pool="mig-01")


@pytest.fixture
def driver_answers(node: AgentNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let every partition take until the event is set."""
    answers = threading.Event()
    make = node.boards.create_partition

    def slowly(gpu: str, profile_id: int, start: int) -> Instance:
        answers.wait(30)
        return make(gpu, profile_id, start)

    monkeypatch.setattr(node.boards, "create_partition", slowly)
    yield answers
    answers.set()


def test_a_prepare_that_takes_too_long_is_answered_in_time_and_the_next_one_joins_it(
    node: AgentNode, driver_answers: threading.Event
) -> None:
    claim = known(node, SMALL)
    node.preparer.preparing.answer_seconds = 0.2
    began = time.monotonic()

    assert "ask again" in reason(node.prepare(claim))
    assert time.monotonic() - began < 5
    assert "ask again" in reason(node.prepare(claim))

    node.preparer.preparing.answer_seconds = 30
    threading.Timer(0.2, driver_answers.set).start()
    assert isinstance(node.prepare(claim), tuple)
    assert len(node.boards.board(node.inventory.devices[0].gpu.uuid).instances) == 1


def test_a_call_about_several_claims_joins_one_and_starts_the_others(
    node: AgentNode, driver_answers: threading.Event
) -> None:
    slow, other = known(node, SMALL), known(node, "gpu-1-mig-1g5gb-19-0", name="other")
    node.preparer.preparing.answer_seconds = 0.2
    node.prepare(slow)
    node.preparer.preparing.answer_seconds = 30
    threading.Timer(0.2, driver_answers.set).start()

    answers = node.preparer.prepare([reference_to(slow), reference_to(other)])

    assert set(answers) == {reference_to(slow).uid, reference_to(other).uid}
    assert all(isinstance(answer, tuple) for answer in answers.values()), answers


def test_while_one_claim_holds_the_lock_another_is_told_to_ask_again(
    node: AgentNode, driver_answers: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "LOCK_SECONDS", 0.2)
    before = LOCK_TIMEOUTS._value.get()
    slow, other = known(node, SMALL), known(node, "gpu-1-mig-1g5gb-19-0", name="other")
    node.preparer.preparing.answer_seconds = 0.2
    node.prepare(slow)
    node.preparer.preparing.answer_seconds = 30

    assert "busy with other claims for too long: ask again" in reason(node.prepare(other))
    assert "ask again" in (node.unprepare(other) or "")
    assert LOCK_TIMEOUTS._value.get() == before + 2
    driver_answers.set()


def test_a_claim_that_is_deleted_while_it_waits_behind_another_is_not_prepared(
    node: AgentNode, driver_answers: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparer_module, "FRESH", timedelta(0))
    slow, other = known(node, SMALL), known(node, "gpu-1-mig-1g5gb-19-0", name="other")
    node.preparer.preparing.answer_seconds = 0.2
    node.preparer.prepare([reference_to(slow), reference_to(other)])

    node.claims.remove(other)
    driver_answers.set()
    node.preparer.preparing.answer_seconds = 30

    assert isinstance(node.prepare(slow), tuple)
    assert "does not exist" in reason(node.prepare(other))
    assert node.entry(other) is None


def test_a_call_that_read_slowly_while_the_claim_was_undone_brings_nothing_back(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim has changed since, but the pod that this call was for is gone."""
    claim: Any = known(node, SMALL)
    node.prepare(claim)
    answers, changed = threading.Event(), {**claim, "metadata": {**claim["metadata"]}}
    changed["metadata"]["resourceVersion"] = "8"

    def slowly(_namespace: str, _name: str) -> JsonObject:
        answers.wait(30)
        return changed

    monkeypatch.setattr(type(node.claims), "claim", staticmethod(slowly))
    node.preparer.preparing.answer_seconds = 0.2
    assert "ask again" in reason(node.prepare(claim))

    assert node.unprepare(claim) is None
    threading.Timer(0.2, answers.set).start()
    node.preparer.preparing.answer_seconds = 30

    assert "was unprepared after this call began" in reason(node.prepare(claim))
    assert not node.cdi_file(claim).exists()


def test_an_unprepare_that_takes_too_long_is_answered_in_time(
    node: AgentNode, driver_answers: threading.Event
) -> None:
    claim = known(node, SMALL)
    node.preparer.preparing.answer_seconds = node.preparer.unpreparing.answer_seconds = 0.2
    node.prepare(claim)

    assert "ask again" in (node.unprepare(claim) or "")

    driver_answers.set()
    node.preparer.unpreparing.answer_seconds = 30
    assert node.unprepare(claim) is None
    assert node.boards.board(node.inventory.devices[0].gpu.uuid).instances == ()


def test_an_api_server_that_says_nothing_costs_its_deadline_and_no_more(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = known(node, SMALL)
    monkeypatch.setattr(reading, "READ_SECONDS", 0.2)
    hung = threading.Event()

    def says_nothing(_namespace: str, _name: str) -> JsonObject:
        hung.wait(30)
        return claim

    monkeypatch.setattr(type(node.claims), "claim", staticmethod(says_nothing))

    assert "could not be read within 0.2 s" in reason(node.prepare(claim))
    hung.set()


def test_calls_from_all_sides_at_once_leave_one_story(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods come and go while their claims are being undone; each call is a kubelet's of its own."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    names = ("a", "b", "rival-of-a", "c")
    devices = (SMALL, "gpu-0-mig-1g5gb-19-1", SMALL, "gpu-0-mig-3g20gb-9-4")
    versions = count(1)

    def call(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(12):
            name, device = chance.choice(list(zip(names, devices, strict=True)))
            claim: Any = known(node, device, name=name)
            claim["metadata"]["resourceVersion"] = str(next(versions))
            if chance.random() < 0.5:
                node.prepare(claim)
            else:
                node.unprepare(claim)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    entries = node.preparer.ledger.entries
    completed = {uid: one for uid, one in entries.items() if one.state is State.COMPLETED}
    assert len({one.devices[0].device for one in completed.values()}) == len(completed)
    assert set(node.preparer.injection.store.claim_uids()) == set(completed)
    board = node.boards.board(node.inventory.devices[0].gpu.uuid)
    assert {instance.uuid for instance in board.instances} == {
        one.devices[0].uuid for one in completed.values()
    }
    assert {one.state for one in entries.values()} <= {State.COMPLETED, State.UNPREPARED}


def pieces(piece: Callable[[], str]) -> Callable[[object], dict[str, Callable[[], str]]]:
    return lambda _claim_uids: {"uid": piece}


def test_what_work_raises_reaches_whoever_waits_and_the_next_call_starts_anew() -> None:
    jobs: Jobs[str] = Jobs("test")

    def broken() -> str:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            jobs.run(("uid",), pieces(broken), late=lambda: "late")
    assert jobs.run(("uid",), pieces(lambda: "done"), late=lambda: "late") == {"uid": "done"}


def test_nothing_asked_is_nothing_done() -> None:
    jobs: Jobs[str] = Jobs("test")

    assert jobs.run((), pieces(lambda: "done"), late=lambda: "late") == {}
