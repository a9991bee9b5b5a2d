import re
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster import metadata as metadata_module
from dra_console.devcluster.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
)
from dra_console.devcluster.journal import JournalBusyError
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NAMESPACES, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from tests.unit.devcluster.things import (
    LAB,
    metadata,
    new_claim,
    new_namespace,
    new_slice,
    with_namespace,
)


def version_of(obj: JsonObject) -> int:
    return int(str(metadata_of(obj)["resourceVersion"]))


def test_created_object_gets_uid_time_version_and_type(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    assert claim["apiVersion"] == "resource.k8s.io/v1"
    assert claim["kind"] == "ResourceClaim"
    assert metadata_of(claim)["uid"]
    assert "generation" not in metadata_of(claim), "Kubernetes counts no changes of claims"
    assert store.get(RESOURCE_CLAIMS, LAB, "gpu") == claim


def test_generated_name_is_the_base_cut_to_58_and_five_random_characters(store: Store) -> None:
    claim = new_claim()
    claim["metadata"] = {"namespace": LAB, "generateName": "a" * 70}

    name = str(metadata_of(store.create(RESOURCE_CLAIMS, claim))["name"])

    assert re.fullmatch(r"a{58}[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_generated_name_that_is_taken_is_made_up_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 27 names: six objects collide in nearly half of all runs, eight tries in hardly any.
    monkeypatch.setattr(metadata_module, "GENERATED_SUFFIX_LENGTH", 1)

    claim = new_claim()
    claim["metadata"] = {"namespace": LAB, "generateName": "a-"}

    for _ in range(6):
        store.create(RESOURCE_CLAIMS, claim)

    assert len(store.list(RESOURCE_CLAIMS).items) == 6


def test_every_write_gets_a_greater_version(store: Store) -> None:
    first = store.create(RESOURCE_CLAIMS, new_claim("a"))
    second = store.create(RESOURCE_CLAIMS, new_claim("b"))

    assert version_of(second) == version_of(first) + 1
    assert store.list(RESOURCE_CLAIMS).resource_version == version_of(second)


def test_second_object_of_a_name_is_refused(store: Store) -> None:
    store.create(RESOURCE_CLAIMS, new_claim())

    with pytest.raises(AlreadyExistsError, match='"gpu" already exists'):
        store.create(RESOURCE_CLAIMS, new_claim())


def test_object_in_an_unknown_namespace_is_refused(store: Store) -> None:
    claim = new_claim()
    claim["metadata"] = metadata("gpu", "nowhere")

    with pytest.raises(NotFoundError, match='namespaces "nowhere" not found'):
        store.create(RESOURCE_CLAIMS, claim)


def test_object_in_a_terminating_namespace_is_refused(store: Store) -> None:
    store.delete(NAMESPACES, "", LAB)

    with pytest.raises(ForbiddenError, match="because it is being terminated"):
        store.create(RESOURCE_CLAIMS, new_claim())


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a" * 254, "a..b"])
def test_name_that_is_no_subdomain_is_refused_with_its_field(store: Store, name: str) -> None:
    with pytest.raises(InvalidError) as refused:
        store.create(RESOURCE_CLAIMS, new_claim(name))

    assert [cause.field for cause in refused.value.causes] == ["metadata.name"]


def test_object_without_a_name_is_refused(store: Store) -> None:
    with pytest.raises(InvalidError, match="name or generateName is required"):
        store.create(RESOURCE_CLAIMS, {"metadata": {"namespace": LAB}})


def test_version_in_a_new_object_is_refused(store: Store) -> None:
    claim = new_claim()
    metadata_of(claim)["resourceVersion"] = "1"

    with pytest.raises(BadRequestError, match="resourceVersion should not be set"):
        store.create(RESOURCE_CLAIMS, claim)


def test_update_of_an_old_version_conflicts(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    metadata_of(claim)["labels"] = {"a": "b"}
    store.update(RESOURCE_CLAIMS, claim)

    metadata_of(claim)["labels"] = {"a": "c"}
    with pytest.raises(ConflictError, match="the object has been modified"):
        store.update(RESOURCE_CLAIMS, claim)


def test_update_without_a_version_wins(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    metadata_of(claim)["labels"] = {"a": "b"}
    del metadata_of(claim)["resourceVersion"]

    store.update(RESOURCE_CLAIMS, claim)

    assert metadata_of(store.get(RESOURCE_CLAIMS, LAB, "gpu"))["labels"] == {"a": "b"}


def test_update_of_another_uid_conflicts(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    metadata_of(claim)["uid"] = "another"

    with pytest.raises(ConflictError, match="Precondition failed: UID"):
        store.update(RESOURCE_CLAIMS, claim)


def test_update_that_changes_nothing_makes_no_version(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    again = store.update(RESOURCE_CLAIMS, claim)

    assert version_of(again) == version_of(claim) == store.resource_version


def test_generation_grows_with_the_spec_only(store: Store) -> None:
    created = store.create(RESOURCE_SLICES, new_slice())

    metadata_of(created)["labels"] = {"a": "b"}
    labelled = store.update(RESOURCE_SLICES, created)
    labelled["spec"] = new_slice(devices=[{"name": "gpu-0"}])["spec"]
    changed = store.update(RESOURCE_SLICES, labelled)

    assert metadata_of(labelled)["generation"] == 1
    assert metadata_of(changed)["generation"] == 2


def test_callers_copy_is_their_own(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())

    metadata_of(claim)["name"] = "spoilt"
    store.list(RESOURCE_CLAIMS).items[0].clear()

    assert metadata_of(store.get(RESOURCE_CLAIMS, LAB, "gpu"))["name"] == "gpu"


def test_list_is_in_the_order_of_namespace_and_name(store: Store) -> None:
    store.create(NAMESPACES, new_namespace("another"))
    for namespace, name in (("lab", "b"), ("lab", "a"), ("another", "c")):
        claim = new_claim()
        claim["metadata"] = metadata(name, namespace)
        store.create(RESOURCE_CLAIMS, claim)

    names = [metadata_of(item)["name"] for item in store.list(RESOURCE_CLAIMS).items]
    in_lab = [metadata_of(item)["name"] for item in store.list(RESOURCE_CLAIMS, LAB).items]

    assert names == ["c", "a", "b"]
    assert in_lab == ["a", "b"]


def test_past_state_is_rolled_back_from_the_log(store: Store) -> None:
    store.create(NODES, {"metadata": {"name": "a"}})
    node = store.create(NODES, {"metadata": {"name": "b"}})
    before = store.resource_version
    metadata_of(node)["labels"] = {"later": "yes"}
    store.update(NODES, node)
    store.delete(NODES, "", "a")
    store.create(NODES, {"metadata": {"name": "c"}})

    past = store.at(before, NODES, namespace=None)

    assert [stored.name for stored in past] == ["a", "b"]
    assert "labels" not in metadata_of(past[1].value)


def test_prepared_write_that_another_overtook_conflicts(store: Store) -> None:
    claim = store.create(RESOURCE_CLAIMS, new_claim())
    metadata_of(claim)["labels"] = {"a": "b"}
    change = store.prepare_update(RESOURCE_CLAIMS, claim)
    store.delete(RESOURCE_CLAIMS, LAB, "gpu")

    with pytest.raises(ConflictError):
        store.commit(change)


def test_everything_survives_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    crashed = with_namespace(Store(path))
    claim = crashed.create(RESOURCE_CLAIMS, new_claim("kept"))
    before = crashed.resource_version
    crashed.create(RESOURCE_CLAIMS, new_claim("gone"))
    crashed.delete(RESOURCE_CLAIMS, LAB, "gone")
    last = crashed.resource_version
    crashed._journal._connection.close()

    store = Store(path)

    assert store.resource_version == last
    assert store.list(RESOURCE_CLAIMS).items == [claim]
    events = store.watch(RESOURCE_CLAIMS, since=before).pending()
    assert [(event.type, event.stored.name) for event in events] == [
        ("ADDED", "gone"),
        ("DELETED", "gone"),
    ]
    store.close()


def test_watch_from_before_compaction_is_gone_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    store = with_namespace(Store(path, kept_events=8))
    for number in range(30):
        store.create(NODES, {"metadata": {"name": f"n{number}"}})

    with pytest.raises(GoneError):
        store.watch(NODES, since=2)
    store.close()
    again = Store(path, kept_events=8)
    with pytest.raises(GoneError):
        again.watch(NODES, since=2)
    assert len(again.list(NODES).items) == 30
    again.close()


def test_watch_from_a_version_that_never_was_is_gone(store: Store) -> None:
    with pytest.raises(GoneError):
        store.watch(NODES, since=store.resource_version + 1)


def test_second_server_on_one_directory_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(JournalBusyError, match="another devcluster runs"):
        Store(tmp_path / "cluster.db")

    assert store.list(NAMESPACES).items


def test_a_compacted_store_keeps_its_version_and_tells_of_nothing_before(tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    store = with_namespace(Store(path))
    store.create(RESOURCE_CLAIMS, new_claim("before"))
    version = store.resource_version

    store.compact()

    with pytest.raises(GoneError):
        store.watch(RESOURCE_CLAIMS, since=version - 1)
    store.create(RESOURCE_CLAIMS, new_claim("after"))
    events = store.watch(RESOURCE_CLAIMS, since=version).pending()
    assert [event.stored.name for event in events] == ["after"]
    store.compact()
    store.close()
    again = Store(path)
    assert again.resource_version == version + 1
    names = [metadata_of(claim)["name"] for claim in again.list(RESOURCE_CLAIMS).items]
    assert names == ["after", "before"]
    again.close()
