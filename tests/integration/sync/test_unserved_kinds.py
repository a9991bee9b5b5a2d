from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dra_console.kube.kinds import DEVICE_TAINT_RULES
from dra_console.mirror.models import Cluster
from dra_console.sync.cursors import make_cursors
from dra_console.sync.follow import Ended
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.tasks import ensure_windows, follow_kind
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status, scripted_server
from tests.integration.sync.windows import cursor_of, follow_for

pytestmark = pytest.mark.django_db(transaction=True)

KUBE_SYSTEM = Answer({"metadata": {"name": "kube-system", "uid": "c1"}})

EMPTY_LIST = Answer({"metadata": {"resourceVersion": "5"}, "items": []})


@pytest.fixture
def server(tmp_path: Path, redis_url: str) -> Iterator[ScriptedServer]:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    client.close()
    with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
def cluster(server: ScriptedServer) -> Cluster:
    return Cluster.objects.create(name="lab", kubeconfig=str(server.kubeconfig))


@pytest.mark.parametrize(("status", "message"), [(404, "not served"), (403, "forbidden to us")])
def test_a_kind_that_cannot_be_read_is_shown_as_such(
    server: ScriptedServer, cluster: Cluster, status: int, message: str
) -> None:
    server.will_answer(KUBE_SYSTEM, Answer(a_status(status, message), status=status))

    assert follow_for(cluster, kind=DEVICE_TAINT_RULES) is Ended.FAILED

    cursor = cursor_of(cluster, DEVICE_TAINT_RULES)
    assert (cursor.served, cursor.error) == (False, message)
    assert (cursor.error_status, cursor.failures) == (status, 0)
    assert cursor.last_contact_at is not None


def test_a_kind_that_is_served_later_is_mirrored_then(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(KUBE_SYSTEM, Answer(a_status(404, "not served"), status=404))
    follow_for(cluster, kind=DEVICE_TAINT_RULES)
    server.answers.clear()
    stream = Answer(lines=(), stays_open=True)
    server.will_answer(KUBE_SYSTEM, EMPTY_LIST, KUBE_SYSTEM, stream, KUBE_SYSTEM)

    follow_for(cluster, kind=DEVICE_TAINT_RULES, seconds=1)

    cursor = cursor_of(cluster, DEVICE_TAINT_RULES)
    assert (cursor.served, cursor.error, cursor.resource_version) == (True, "", "5")
    assert cursor.error_status == 0


def test_a_console_that_may_not_see_namespaces_mirrors_the_rest(
    server: ScriptedServer, cluster: Cluster
) -> None:
    forbidden = Answer(a_status(403, "no namespaces for you"), status=403)
    stream = Answer(lines=(), stays_open=True)
    server.will_answer(forbidden, EMPTY_LIST, forbidden, stream, forbidden)

    assert follow_for(cluster, kind=DEVICE_TAINT_RULES, seconds=1) is Ended.OVER
    assert cursor_of(cluster, DEVICE_TAINT_RULES).resource_version == "5"


def test_a_server_that_ends_every_watch_at_once_is_left_in_peace(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(
        KUBE_SYSTEM, EMPTY_LIST, KUBE_SYSTEM, Answer(lines=()), KUBE_SYSTEM, Answer(lines=())
    )

    assert follow_for(cluster, kind=DEVICE_TAINT_RULES, seconds=30) is Ended.FAILED

    assert "as soon as it had begun" in cursor_of(cluster, DEVICE_TAINT_RULES).error


def test_credentials_that_cannot_be_loaded_are_shown(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.kubeconfig.unlink()

    assert follow_for(cluster, kind=DEVICE_TAINT_RULES) is Ended.FAILED
    assert str(server.kubeconfig) in cursor_of(cluster, DEVICE_TAINT_RULES).error


class TestBeat:
    @pytest.fixture
    def queued(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
        queued: list[tuple[int, str]] = []

        def note(arguments: tuple[int, str], *, expires: int) -> None:
            assert expires > 0
            queued.append(arguments)

        monkeypatch.setattr(follow_kind, "apply_async", note)
        return queued

    def test_opens_a_window_for_each_kind_of_each_enabled_cluster(
        self, cluster: Cluster, queued: list[tuple[int, str]]
    ) -> None:
        Cluster.objects.create(name="off", enabled=False)

        ensure_windows()

        assert queued == [(cluster.pk, plural) for plural in MIRRORED]

    def test_opens_none_where_somebody_follows_already(
        self, cluster: Cluster, queued: list[tuple[int, str]]
    ) -> None:
        from dra_console.leases import lease
        from dra_console.sync.tasks import lease_name

        with lease(lease_name(cluster.pk, "nodes"), seconds=5):
            ensure_windows()

        assert (cluster.pk, "nodes") not in queued
        assert len(queued) == len(MIRRORED) - 1

    def test_lets_a_kind_rest_that_is_not_served(
        self, server: ScriptedServer, cluster: Cluster, queued: list[tuple[int, str]]
    ) -> None:
        make_cursors(cluster)
        server.will_answer(KUBE_SYSTEM, Answer(a_status(404, "not served"), status=404))
        follow_for(cluster, kind=DEVICE_TAINT_RULES)

        ensure_windows()

        assert (cluster.pk, "devicetaintrules") not in queued
