"""A claim and the pod that it is for are written by two streams at the same time."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind
from dra_console.mirror.models import Cluster, Cursor, ResourceClaim
from dra_console.sync.cursors import make_cursors, writing
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_pod
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
POD = at_version(a_pod("train", template="one-gpu"), 5)
CLAIM = at_version(
    a_claim("train-gpu"),
    6,
    annotations={"resource.kubernetes.io/pod-claim-name": "gpu"},
    ownerReferences=[
        {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": POD["metadata"]["uid"]}  # type: ignore[index, call-overload]
    ],
)
STREAMS = {PODS: POD, RESOURCE_CLAIMS: CLAIM}


def write(cluster: Cluster, kind: Kind, *, before_commit: Callable[[], object]) -> None:
    with writing(cluster, kind=kind, fence=1, kube_system_uid=""):
        apply(cluster, kind=kind, objects=[STREAMS[kind]], seen_at=NOON)
        before_commit()


@pytest.mark.skipif(
    connection.vendor == "sqlite", reason="SQLite has one writer at a time, so there is no race"
)
@pytest.mark.parametrize("first", STREAMS, ids=lambda kind: kind.plural)
def test_the_template_is_known_whichever_is_committed_first(first: Kind) -> None:
    cluster = Cluster.objects.create(name="lab")
    make_cursors(cluster)
    (second,) = STREAMS.keys() - {first}

    def write_second() -> None:
        write(cluster, second, before_commit=lambda: None)
        connection.close()

    other = threading.Thread(target=write_second)

    def begin_second() -> None:
        other.start()
        # Enough to read and write everything, if nothing made it wait.
        other.join(timeout=0.5)

    write(cluster, first, before_commit=begin_second)
    other.join()

    assert ResourceClaim.objects.get().template_name == "one-gpu"


def test_a_window_that_a_late_writer_overtook_begins_where_that_one_ended() -> None:
    from dra_console.sync.errors import CursorMovedError

    cluster = Cluster.objects.create(name="lab")
    make_cursors(cluster)
    Cursor.objects.filter(plural="pods").update(resource_version="7")

    with (
        pytest.raises(CursorMovedError),
        writing(cluster, kind=PODS, fence=2, kube_system_uid="", expects="5"),
        transaction.atomic(),
    ):
        pytest.fail("nothing may be written")

    assert Cursor.objects.get(plural="pods").fence == 0
