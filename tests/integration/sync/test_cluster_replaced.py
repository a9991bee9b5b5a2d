"""The address leads to another cluster while a list is under way."""

from pathlib import Path

import pytest

from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.sync.follow import Ended, follow
from tests.builders.objects import a_claim
from tests.integration.kube.scripted import Answer, scripted_server
from tests.integration.sync.windows import a_window, cursor_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

PAGE = Answer(
    {"kind": "ResourceClaimList", "metadata": {"resourceVersion": "10"}, "items": [a_claim()]}
)


def kube_system(uid: str) -> Answer:
    return Answer({"metadata": {"name": "kube-system", "uid": uid}})


def test_a_page_that_may_be_of_the_cluster_before_is_not_written(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        cluster = Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))
        server.will_answer(kube_system("old"), PAGE, kube_system("new"))

        with a_window(cluster) as window:
            ended = follow(window)

    assert ended is Ended.CALLED_OFF
    assert not ResourceClaim.objects.exists()
    assert cursor_of(cluster).resource_version == ""
