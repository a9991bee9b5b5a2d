import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.claims.checkpoint import FORMAT_VERSION, Checkpoint, decode, encode
from nodeagent.claims.entry import Entry, State
from nodeagent.claims.errors import CorruptCheckpointError
from tests.builders.agents import NOW, a_planned_device, an_entry, resealed

FILES = Path(__file__).parent / "checkpoints"
FULL = an_entry(
    "uid-1",
    a_planned_device(
        "gpu-0-mig-3g20gb-9-4",
        pci_bus_id="0000:07:00.0",
        mig_profile_id=9,
        mig_start=4,
        mig_size=4,
        share_id="s1",
        admin_access=True,
    ),
    error="gone",
)


def a_checkpoint(*entries: Entry) -> Checkpoint:
    checkpoint = Checkpoint(boot_id="boot-1")
    for entry in entries or (FULL,):
        checkpoint = checkpoint.with_entry(entry)
    return checkpoint


def test_what_is_written_is_read() -> None:
    read = decode(encode(a_checkpoint()))

    assert read.boot_id == "boot-1"
    assert read.entries == {"uid-1": FULL}
    assert not read.is_read_only


def test_members_of_a_newer_agent_survive_being_read_and_written() -> None:
    content = json.loads(encode(a_checkpoint()))
    content["claims"]["uid-1"]["mpsDaemon"] = {"pid": 7}
    newer = resealed(
        json.dumps(content).encode(), claims=content["claims"], createdPartitions=["a"]
    )

    again = json.loads(encode(decode(newer).with_entry(an_entry("uid-2"))))

    assert again["createdPartitions"] == ["a"]
    assert again["claims"]["uid-1"]["mpsDaemon"] == {"pid": 7}
    assert set(again["claims"]) == {"uid-1", "uid-2"}


def test_the_checksum_covers_the_members_that_this_version_does_not_know() -> None:
    newer = resealed(encode(a_checkpoint()), createdPartitions=["a"])

    decode(newer)
    with pytest.raises(CorruptCheckpointError, match="checksum"):
        decode(newer.replace(b'["a"]', b'["b"]'))


def test_spacing_and_order_of_the_file_do_not_matter() -> None:
    content = json.loads(encode(a_checkpoint()))

    shuffled = dict(reversed(content.items()))

    assert decode(json.dumps(shuffled).encode()).entries == {"uid-1": FULL}


@given(st.data())
def test_a_changed_byte_never_passes_as_another_content(data: st.DataObject) -> None:
    content = bytearray(encode(a_checkpoint()))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))

    try:
        read = decode(bytes(content))
    except CorruptCheckpointError:
        return

    assert read == decode(encode(a_checkpoint()))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}"])
def test_what_no_agent_wrote_is_corrupt(content: bytes) -> None:
    with pytest.raises(CorruptCheckpointError):
        decode(content)


def test_one_broken_entry_is_set_aside_and_kept() -> None:
    content = json.loads(encode(a_checkpoint(FULL, an_entry("uid-2"))))
    del content["claims"]["uid-1"]["state"]

    read = decode(resealed(json.dumps(content).encode(), claims=content["claims"]))

    assert set(read.entries) == {"uid-2"}
    assert set(read.unreadable) == {"uid-1"}
    assert json.loads(encode(read))["claims"]["uid-1"] == content["claims"]["uid-1"]
    assert json.loads(encode(read.without("uid-1")))["claims"].keys() == {"uid-2"}


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION])
def test_files_of_this_format_and_the_one_before_are_read_and_survive_an_upgrade(
    version: int,
) -> None:
    """Each file was written by a released version; none is ever to be written again."""
    content = (FILES / f"format-{version}.json").read_bytes()

    read = decode(content)

    assert not read.is_read_only
    assert read.unreadable == {}
    assert read.entries.keys() == json.loads(content)["claims"].keys()
    written = json.loads(encode(read))
    assert written["claims"] == json.loads(content)["claims"]
    assert written["formatVersion"] == FORMAT_VERSION
    assert decode(encode(read)).entries == read.entries


def test_there_is_a_file_of_each_format() -> None:
    versions = range(1, FORMAT_VERSION + 1)

    assert {path.name for path in FILES.iterdir()} == {f"format-{n}.json" for n in versions}


@pytest.mark.parametrize("version", [FORMAT_VERSION - 2, -1])
def test_a_format_that_is_too_old_is_set_aside_like_a_corrupt_one(version: int) -> None:
    with pytest.raises(CorruptCheckpointError, match="is no longer read"):
        decode(resealed(encode(a_checkpoint()), formatVersion=version))


def test_members_of_a_device_that_a_newer_agent_wrote_are_written_back() -> None:
    content = json.loads(encode(a_checkpoint()))
    content["claims"]["uid-1"]["devices"][0]["vfioGroup"] = 12
    newer = resealed(json.dumps(content).encode(), claims=content["claims"])

    assert json.loads(encode(decode(newer)))["claims"] == content["claims"]


def test_sharing_that_this_version_does_not_know_keeps_no_claim_from_being_undone() -> None:
    content = json.loads(encode(a_checkpoint()))
    content["claims"]["uid-1"]["devices"][0]["sharing"] = {"strategy": "Quantum", "qubits": 3}
    newer = resealed(json.dumps(content).encode(), claims=content["claims"])

    assert decode(newer).entries["uid-1"].devices[0].sharing is None
    assert json.loads(encode(decode(newer)))["claims"] == content["claims"]


def test_a_newer_format_may_be_read_and_not_written() -> None:
    assert decode(resealed(encode(a_checkpoint()), formatVersion=FORMAT_VERSION + 1)).is_read_only


def test_tombstones_go_after_ten_minutes_and_nothing_else_does() -> None:
    checkpoint = a_checkpoint(
        an_entry("old", state=State.UNPREPARED, changed_at=NOW - timedelta(minutes=11)),
        an_entry("young", state=State.UNPREPARED, changed_at=NOW - timedelta(minutes=9)),
        an_entry("held", changed_at=NOW - timedelta(days=90)),
    )

    assert set(checkpoint.without_old_tombstones(NOW).entries) == {"young", "held"}
