import shutil
import threading
import time

import pytest

from dra_console.kube import lists as kube_lists
from dra_console.kube.client import Client
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIMS
from dra_console.mirror.models import (
    Cluster,
    Cursor,
    DeviceAssignment,
    Namespace,
    ObjectChange,
    ResourceClaim,
)
from dra_console.sync import window as sync_window
from dra_console.sync.follow import Ended, follow
from tests.builders.objects import an_allocation
from tests.integration.devclusters import Devcluster
from tests.integration.sync.conftest import FEW_EVENTS, NAMESPACE
from tests.integration.sync.windows import (
    a_new_claim,
    a_window,
    cursor_of,
    differences,
    follow_for,
    meanwhile,
)

pytestmark = pytest.mark.long


def claim_names() -> list[str]:
    return sorted(ResourceClaim.objects.values_list("name", flat=True))


def create(api: Client, *names: str) -> None:
    for name in names:
        api.create(RESOURCE_CLAIMS, a_new_claim(name), namespace=NAMESPACE)


def test_a_first_window_lists_what_is_there_and_watches_what_comes(
    api: Client, cluster: Cluster
) -> None:
    create(api, "before")

    def go_on() -> None:
        time.sleep(0.8)
        create(api, "during")
        api.delete(RESOURCE_CLAIMS, "before", namespace=NAMESPACE)

    with meanwhile(go_on):
        assert follow_for(cluster) is Ended.OVER

    assert claim_names() == ["during"]
    assert differences(cluster) == {}
    cursor = cursor_of(cluster)
    assert (cursor.served, cursor.error, cursor.relists) == (True, "", 0)
    assert cursor.last_event_at is not None


def test_the_next_window_goes_on_from_the_cursor_without_a_list(
    api: Client, cluster: Cluster
) -> None:
    follow_for(cluster, seconds=1)
    listed_at = cursor_of(cluster).listed_at

    create(api, "between")
    follow_for(cluster, seconds=1)

    assert claim_names() == ["between"]
    assert cursor_of(cluster).listed_at == listed_at


def test_a_version_that_was_compacted_away_is_listed_again_and_swept(
    api: Client, cluster: Cluster
) -> None:
    create(api, "goes", "stays")
    follow_for(cluster, seconds=1)

    api.delete(RESOURCE_CLAIMS, "goes", namespace=NAMESPACE)
    create(api, *(f"new-{number}" for number in range(FEW_EVENTS + 5)))
    assert follow_for(cluster, seconds=2) is Ended.OVER

    assert "goes" not in claim_names()
    assert differences(cluster) == {}
    assert cursor_of(cluster).relists == 1


def test_a_long_list_is_mirrored_page_by_page(
    api: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, *(f"claim-{number}" for number in range(10)))
    monkeypatch.setattr(kube_lists, "PAGE_SIZE", 3)

    follow_for(cluster, seconds=1)

    assert len(claim_names()) == 10
    assert differences(cluster) == {}


def test_devices_of_a_claim_are_held_while_it_is_allocated(api: Client, cluster: Cluster) -> None:
    create(api, "train")
    claim = api.get(RESOURCE_CLAIMS, "train", namespace=NAMESPACE)
    held = api.replace(
        RESOURCE_CLAIMS, {**claim, "status": {"allocation": an_allocation()}}, subresource="status"
    )
    follow_for(cluster, seconds=1)
    assert [row.device for row in DeviceAssignment.objects.filter(released_at=None)] == ["gpu-0"]

    api.replace(RESOURCE_CLAIMS, {**held, "status": {}}, subresource="status")
    follow_for(cluster, seconds=1)

    assert DeviceAssignment.objects.get().released_at is not None
    happened = list(ObjectChange.objects.order_by("pk").values_list("happened", flat=True))
    assert happened == ["created", "allocated", "deallocated"]


def test_a_server_that_goes_away_is_shown_and_found_again(
    api: Client, cluster: Cluster, server: Devcluster
) -> None:
    create(api, "before")
    follow_for(cluster, seconds=1)

    def go_away() -> None:
        time.sleep(0.5)
        server.kill()

    with meanwhile(go_away):
        assert follow_for(cluster, seconds=20) is Ended.FAILED
    assert cursor_of(cluster).error != ""

    server.start()
    create(api, "after")
    assert follow_for(cluster, seconds=2) is Ended.OVER
    assert cursor_of(cluster).error == ""
    assert claim_names() == ["after", "before"]
    assert differences(cluster) == {}


def test_another_cluster_at_the_same_address_never_mixes_with_the_old_one(
    api: Client, cluster: Cluster, server: Devcluster
) -> None:
    create(api, "old")
    follow_for(cluster, seconds=1)
    follow_for(cluster, kind=NAMESPACES, seconds=1)
    first_uid = Cluster.objects.get().kube_system_uid
    assert first_uid != ""

    server.kill()
    shutil.rmtree(server.directory / "data")
    server.start()
    follow_for(cluster, seconds=2)
    follow_for(cluster, seconds=2)

    assert Cluster.objects.get().kube_system_uid != first_uid
    assert claim_names() == []
    assert not Namespace.objects.exists(), "rows of another kind are of the old cluster, too"
    assert not ObjectChange.objects.exists()
    assert cursor_of(cluster, NAMESPACES).resource_version == ""
    assert differences(cluster) == {}
    follow_for(cluster, kind=NAMESPACES, seconds=1)
    assert differences(cluster, NAMESPACES) == {}


class TestEndsEarly:
    @pytest.mark.usefixtures("api")
    def test_when_the_worker_stops(self, cluster: Cluster) -> None:
        stopping = threading.Event()
        began_at = time.monotonic()

        def stop() -> None:
            time.sleep(0.5)
            stopping.set()

        with meanwhile(stop), a_window(cluster, seconds=60, stopped=stopping.is_set) as window:
            ended = follow(window)

        assert ended is Ended.CALLED_OFF
        assert time.monotonic() - began_at < 4

    def test_when_the_lease_is_lost(self, api: Client, cluster: Cluster, redis_url: str) -> None:
        create(api, "before")
        began_at = time.monotonic()

        def take_away() -> None:
            import redis

            time.sleep(0.5)
            client = redis.Redis.from_url(redis_url)
            client.delete("lease:{test:resourceclaims}")
            client.close()

        with meanwhile(take_away), a_window(cluster, seconds=60) as window:
            ended = follow(window)

        assert ended is Ended.CALLED_OFF
        assert time.monotonic() - began_at < 6

    @pytest.mark.usefixtures("api")
    def test_when_the_cluster_is_disabled(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync_window, "CLUSTER_POLL_SECONDS", 0.0)
        follow_for(cluster, seconds=1)
        Cluster.objects.update(enabled=False)

        with a_window(cluster, seconds=60) as window:
            assert follow(window) is Ended.CALLED_OFF

    @pytest.mark.usefixtures("api")
    def test_when_the_cluster_is_removed(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync_window, "CLUSTER_POLL_SECONDS", 0.0)
        follow_for(cluster, seconds=1)

        with a_window(cluster, seconds=60) as window:
            Cluster.objects.all().delete()
            assert follow(window) is Ended.CALLED_OFF

        assert not Cursor.objects.exists()


def test_a_window_that_lost_its_turn_in_mid_batch_writes_nothing(
    api: Client, cluster: Cluster
) -> None:
    follow_for(cluster, seconds=1)

    with a_window(cluster, seconds=20) as slow:
        # Somebody newer has written; this window has not noticed yet that its lease is lost.
        Cursor.objects.filter(plural="resourceclaims").update(fence=slow.held.fence + 1)
        create(api, "during")
        assert follow(slow) is Ended.CALLED_OFF

    assert claim_names() == []
    assert cursor_of(cluster).fence == slow.held.fence + 1
