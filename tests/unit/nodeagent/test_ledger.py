import stat
import threading
import time
from pathlib import Path

import pytest

from nodeagent.claims import ledger as ledger_module
from nodeagent.claims.errors import CorruptCheckpointError, LockTimeoutError
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.lock import locked
from tests.builders.agents import an_entry


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path, boot_id="boot-1")


def put(ledger: Ledger, uid: str) -> None:
    with ledger.held():
        ledger.put(an_entry(uid))


def test_what_is_put_is_on_disk_before_put_returns(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, "uid-1")

    with Ledger(tmp_path, boot_id="boot-1").held() as checkpoint:
        assert checkpoint.entries == {"uid-1": an_entry("uid-1")}
    assert stat.S_IMODE((tmp_path / "checkpoint.json").stat().st_mode) == 0o600


def test_the_file_before_the_last_write_is_kept(ledger: Ledger) -> None:
    put(ledger, "uid-1")
    put(ledger, "uid-2")

    previous = ledger.previous()

    assert previous is not None
    assert set(previous.entries) == {"uid-1"}


def test_changes_of_another_process_are_seen(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, "uid-1")

    put(Ledger(tmp_path, boot_id="boot-1"), "uid-2")

    with ledger.held() as checkpoint:
        assert set(checkpoint.entries) == {"uid-1", "uid-2"}


def test_the_checkpoint_cannot_be_changed_without_the_lock(ledger: Ledger) -> None:
    with pytest.raises(RuntimeError, match="without the node's lock"):
        ledger.put(an_entry())


def test_whoever_waits_too_long_for_the_lock_gets_an_error(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "LOCK_SECONDS", 0.2)

    with (
        locked(tmp_path / "serialize.lock", within_seconds=1),
        pytest.raises(LockTimeoutError, match=r"serialize\.lock is held"),
        ledger.held(),
    ):
        pass


def test_threads_take_turns_and_lose_no_entry(ledger: Ledger) -> None:
    threads = [threading.Thread(target=put, args=(ledger, f"uid-{n}")) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(ledger.entries) == {f"uid-{n}" for n in range(6)}


def test_listeners_hear_of_each_write_and_can_read_without_the_lock(ledger: Ledger) -> None:
    heard: list[set[str]] = []
    ledger.on_change(lambda: heard.append(set(ledger.entries)))

    put(ledger, "uid-1")
    with ledger.held():
        ledger.drop("uid-1")

    assert heard == [{"uid-1"}, set()]


def test_a_corrupt_file_is_reported_and_can_be_set_aside(ledger: Ledger, tmp_path: Path) -> None:
    put(ledger, "uid-1")
    (tmp_path / "checkpoint.json").write_text("{")

    with pytest.raises(CorruptCheckpointError), ledger.held():
        pass
    with ledger.held_unread():
        corrupt = ledger.set_aside(at=an_entry().changed_at)

    assert corrupt.name == "checkpoint.json.corrupt-20261129T200000Z"
    assert corrupt.read_text() == "{"
    assert not ledger.exists


def test_a_dead_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock", within_seconds=1):
        raise ZeroDivisionError

    began = time.monotonic()
    with locked(tmp_path / "lock", within_seconds=1):
        pass
    assert time.monotonic() - began < 0.5


def test_listeners_hear_once_of_what_another_agent_has_written(
    ledger: Ledger, tmp_path: Path
) -> None:
    heard: list[set[str]] = []
    ledger.look_again()
    put(ledger, "uid-1")
    ledger.on_change(lambda: heard.append(set(ledger.entries)))
    ledger.look_again()
    assert heard == []

    put(Ledger(tmp_path, boot_id="boot-1"), "uid-2")
    ledger.look_again()
    ledger.look_again()

    assert heard == [{"uid-1", "uid-2"}]


def test_looking_again_waits_for_nobody_longer_than_for_the_lock_and_breaks_nothing(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "LOCK_SECONDS", 0.2)
    put(ledger, "uid-1")
    other = Ledger(tmp_path, boot_id="boot-1")
    put(other, "uid-2")

    with other.held():
        ledger.look_again()
    assert set(ledger.entries) == {"uid-1"}
    (tmp_path / "checkpoint.json").write_text("{")
    ledger.look_again()

    assert set(ledger.entries) == {"uid-1"}
