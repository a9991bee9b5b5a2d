"""The database that tests get: migrated to the end, never an old one, locked as in production."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from dra_console.mirror.models import Cluster
from tests import migrated

MEANWHILE_SECONDS = 0.3


@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_to_migrate() -> None:
    executor = MigrationExecutor(connection)

    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


@pytest.mark.django_db(transaction=True)
def test_a_thread_waits_for_what_another_one_writes() -> None:
    has_written, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            Cluster.objects.create(name="other", kubeconfig="/k")
            has_written.set()
            may_end.wait()
        connection.close()

    other = threading.Thread(target=write)
    other.start()
    has_written.wait()
    threading.Timer(MEANWHILE_SECONDS, may_end.set).start()

    Cluster.objects.create(name="ours", kubeconfig="/k")

    other.join()
    assert Cluster.objects.count() == 2


@pytest.mark.parametrize(
    "changed",
    ["dra_console/mirror/migrations/0001_initial.py", "dra_console/mirror/online_indexes.py"],
)
def test_what_is_kept_is_not_used_for_other_migrations(tmp_path: Path, changed: str) -> None:
    code = shutil.ignore_patterns("__pycache__", "static", "templates")
    shutil.copytree(migrated.ROOT / "dra_console", tmp_path / "dra_console", ignore=code)
    assert migrated.sources(tmp_path) == migrated.sources()

    with (tmp_path / changed).open("a") as module:
        module.write("# another content\n")

    assert migrated.sources(tmp_path) != migrated.sources()


def test_what_several_ask_for_at_once_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrated, "CACHE", tmp_path / "cache")
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("whole")

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: migrated.once("kind", b"content", make), range(4))]

    assert len(made) == len(set(found)) == 1
    assert found[0].read_text() == "whole"


def test_what_was_not_finished_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrated, "CACHE", tmp_path)

    def make_half(path: Path) -> None:
        path.mkdir()
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        migrated.once("kind", b"content", make_half)

    assert migrated.once("kind", b"content", Path.mkdir).is_dir()
