"""What runs on nodes counts there, whoever put it there, and stops counting when it ends."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dra_console.kube.kinds import PODS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.mirrored_use import MirroredUse, read_uses
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed
from dra_console.scheduling.planning.wishes import PodWish, wish_of_pod
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from tests.builders.boards import a_board, a_ready_node
from tests.builders.objects import NAMESPACE, a_pod
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def see(cluster: Cluster, *pods: Any, gone: tuple[str, ...] = ()) -> None:
    keys = [ObjectKey(NAMESPACE, name) for name in gone]
    apply(cluster, kind=PODS, objects=pods, gone=keys, seen_at=NOON)


def a_pod_asking(
    name: str, *, node: str | None = None, phase: str = "Running", **requests: str
) -> Any:
    pod: Any = a_pod(name, node=node, phase=phase, scheduler="default-scheduler")
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}
    return pod


def wish_of(pod: Any) -> PodWish:
    wish = wish_of_pod(pod)
    assert isinstance(wish, PodWish)
    return wish


def a_board_of_one() -> NodeBoard:
    return a_board(a_ready_node("gpu-01", offers={"cpu": "4", "memory": "16Gi", "pods": "3"}))


def left_on(board: NodeBoard) -> dict[str, int]:
    columns = board.columns
    return {name: columns.most_left(name, columns.present) for name in ("cpu", "pods")}


def test_amounts_of_working_pods_add_up_by_node(cluster: Cluster) -> None:
    see(
        cluster,
        a_pod_asking("a", node="gpu-01", cpu="1", memory="1Ki", **{"example.com/nic": "1"}),
        a_pod_asking("b", node="gpu-01", cpu="500m", **{"example.com/nic": "2"}),
        a_pod_asking("c", node="gpu-02", memory="1"),
        a_pod_asking("ended", node="gpu-02", cpu="9", phase="Failed"),
        a_pod_asking("waits", cpu="9", phase="Pending"),
    )
    nothing = {"cpu": 0, "memory": 0, "ephemeral-storage": 0}

    assert read_uses(cluster) == {
        "gpu-01": nothing | {"pods": 2, "cpu": 1500, "memory": 1024, "example.com/nic": 3},
        "gpu-02": nothing | {"pods": 1, "memory": 1},
    }
    assert [*read_uses(cluster, ["gpu-02", "gpu-03"])] == ["gpu-02"]


def test_what_others_run_on_a_node_is_not_there_for_the_consoles_pods(cluster: Cluster) -> None:
    board = a_board_of_one()
    use = MirroredUse(cluster, board)
    see(cluster, a_pod_asking("web", node="gpu-01", cpu="3500m"))
    use.compare()

    refused = plan_pod(board, wish_of(a_pod_asking("train", cpu="1")), [])
    placed = plan_pod(board, wish_of(a_pod_asking("train", cpu="500m")), [])

    assert isinstance(refused, NotPlaced)
    assert refused.reason == "0 of 1 node takes it: 1 lacks cpu: 1 wanted, 500m left"
    assert isinstance(placed, Placed)


def test_only_what_makes_room_is_called_a_gain(cluster: Cluster) -> None:
    use = MirroredUse(cluster, a_board_of_one())
    web = a_pod_asking("web", node="gpu-01", cpu="1")

    see(cluster, web)
    assert not use.compare()
    assert not use.compare()
    see(cluster, at_version(a_pod_asking("web", node="gpu-01", cpu="1", phase="Succeeded"), "2"))
    assert use.compare(["gpu-01"])
    see(cluster, gone=("web",))
    assert not use.compare()


def test_a_pod_counts_from_its_plan_on_and_once(cluster: Cluster) -> None:
    board = a_board_of_one()
    use = MirroredUse(cluster, board)
    train = a_pod_asking("train", node="gpu-01", cpu="3")

    board.take_pod(wish_of(train), node_name="gpu-01")
    assert left_on(board) == {"cpu": 1000, "pods": 2}
    use.compare()
    assert left_on(board) == {"cpu": 1000, "pods": 2}

    see(cluster, train)
    use.compare()
    assert left_on(board) == {"cpu": 1000, "pods": 2}
    assert not board.taken_pods


def test_a_pod_that_was_not_bound_counts_no_more() -> None:
    board = a_board_of_one()
    wish = wish_of(a_pod_asking("train", cpu="3"))
    board.take_pod(wish, node_name="gpu-01")
    assert isinstance(plan_pod(board, wish, []), NotPlaced)

    board.let_pod_go(wish.uid)

    assert isinstance(plan_pod(board, wish, []), Placed)


def test_a_node_that_runs_all_the_pods_it_may_takes_no_more(cluster: Cluster) -> None:
    board = a_board_of_one()
    see(cluster, *(a_pod_asking(name, node="gpu-01") for name in "abc"))
    MirroredUse(cluster, board).compare()

    plan = plan_pod(board, PodWish(), [])

    assert isinstance(plan, NotPlaced)
    assert plan.node_reasons == {"gpu-01": "takes no more pods"}
