"""Follow kinds for a moment, and do something at the API server meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, Kind
from dra_console.leases import lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.differences import lasting_differences
from dra_console.sync.follow import Ended, follow
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.window import Window
from tests.integration.sync.conftest import NAMESPACE


@contextmanager
def a_window(
    cluster: Cluster,
    *,
    kind: Kind = RESOURCE_CLAIMS,
    seconds: int = 2,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Window]:
    with lease(f"test:{kind.plural}", seconds=5) as held:
        assert held is not None
        cluster.refresh_from_db()
        yield Window(cluster=cluster, kind=kind, held=held, seconds=seconds, stopped=stopped)


def follow_for(cluster: Cluster, *, kind: Kind = RESOURCE_CLAIMS, seconds: int = 2) -> Ended:
    with a_window(cluster, kind=kind, seconds=seconds) as window:
        return follow(window)


def cursor_of(cluster: Cluster, kind: Kind = RESOURCE_CLAIMS) -> Cursor:
    return Cursor.objects.get(cluster=cluster, plural=kind.plural)


def differences(cluster: Cluster, kind: Kind = RESOURCE_CLAIMS) -> dict[str, str]:
    found = lasting_differences(cluster, mirrored=MIRRORED[kind.plural], client=client_of(cluster))
    return {
        f"{difference.subject} {difference.mirrored}": truth for difference, truth in found.items()
    }


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Run `act` in the background during the block; its failure is the test's."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()
    for failure in failures:
        raise failure


def a_new_claim(name: str) -> JsonObject:
    """Build a claim as a user posts it."""
    request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [request]}},
    }
