import json
import shutil
import stat
from pathlib import Path

import pytest

from nodeagent.cdi.edits import SimulatedEdits
from nodeagent.cdi.errors import InvalidSpecError
from nodeagent.cdi.spec import ContainerEdits, build, device_name
from nodeagent.cdi.store import CdiStore
from nodeagent.cdi.watch import MissingFiles
from nodeagent.fields import JsonObject
from tests.builders.agents import an_inventory

UID = "77777777-0000-4000-8000-000000000063"


@pytest.fixture
def store(tmp_path: Path) -> CdiStore:
    return CdiStore(tmp_path, "gpu.nvidia.com")


def a_spec(claim_uid: str = UID) -> JsonObject:
    device = an_inventory().devices[0]
    edits = SimulatedEdits()
    name = device_name(claim_uid, device.name)
    return build("gpu.nvidia.com", devices={name: edits.of(device)}, common=edits.common())


def test_a_file_is_named_after_vendor_class_and_claim(store: CdiStore) -> None:
    store.write(UID, a_spec())

    path = store.directory / f"k8s.gpu.nvidia.com-claim_{UID}.json"
    assert json.loads(path.read_text()) == a_spec()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(store.directory.iterdir()) == [path]


def test_an_invalid_file_never_appears(store: CdiStore) -> None:
    empty = build("gpu.nvidia.com", devices={"a": ContainerEdits()}, common=ContainerEdits())

    with pytest.raises(InvalidSpecError, match=r"devices\[0\]\.containerEdits"):
        store.write(UID, empty)

    assert list(store.directory.iterdir()) == []


def test_a_file_is_recognised_by_its_exact_content(store: CdiStore) -> None:
    assert not store.holds(UID, a_spec())

    store.write(UID, a_spec())
    assert store.holds(UID, a_spec())

    store.path_of(UID).write_text("{}")
    assert not store.holds(UID, a_spec())


def test_removing_twice_is_fine(store: CdiStore) -> None:
    store.write(UID, a_spec())

    store.remove(UID)
    store.remove(UID)

    assert list(store.claim_uids()) == []


def test_the_directory_tells_which_claims_have_devices(store: CdiStore) -> None:
    store.write(UID, a_spec())
    other = store.directory / "k8s.other.example-claim_abc.json"
    other.write_text("{}")
    (store.directory / "k8s.gpu.nvidia.com-claim_broken.json").write_text("{")

    assert sorted(store.claim_uids()) == [UID, "broken"]
    assert store.device_names(UID) == (f"{UID}-gpu-0",)
    assert store.device_names("broken") == ()
    assert store.device_names("absent") == ()


def test_a_file_that_somebody_removed_is_missed_at_the_next_look(store: CdiStore) -> None:
    missing = MissingFiles(store)
    store.write(UID, a_spec())
    assert missing.look([UID]) == ()

    store.path_of(UID).unlink()

    assert missing.look([UID]) == (UID,)
    # It cannot be written again, say; only another change makes it news.
    assert missing.look([UID]) == ()
    (store.directory / "other").touch()
    assert missing.look([UID, "claim-2"]) == (UID, "claim-2")


def test_a_directory_that_was_cleaned_away_comes_back_with_the_file(store: CdiStore) -> None:
    missing = MissingFiles(store)
    store.write(UID, a_spec())
    missing.look([UID])
    shutil.rmtree(store.directory)

    assert missing.look([UID]) == (UID,)
    store.remove(UID)
    store.write(UID, a_spec())

    assert missing.look([UID]) == ()
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o755
