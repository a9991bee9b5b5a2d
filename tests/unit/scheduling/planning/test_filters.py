"""Which nodes are left out, devices aside, and what is said of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from dra_console.mirror.pod_requests import Amounts
from dra_console.scheduling.planning.filters import Lack, lacking, preference, why_not
from dra_console.scheduling.planning.node_facts import facts_of
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed, Plan, Refused
from dra_console.scheduling.planning.wishes import NodeWish, PodWish, wish_of_pod
from tests.builders.boards import a_board, a_ready_node
from tests.builders.cases import case_objects
from tests.builders.objects import a_pod

FIELD = "requiredDuringSchedulingIgnoredDuringExecution"


def a_pod_with(*, requests: dict[str, str] | None = None, **spec: Any) -> Any:
    pod: Any = a_pod()
    pod["spec"]["containers"][0]["resources"] = {"requests": requests or {}}
    pod["spec"] |= spec
    return pod


def wish_of(**spec: Any) -> NodeWish:
    wish = wish_of_pod(a_pod_with(**spec))
    assert isinstance(wish, PodWish), wish
    return wish.nodes


def tolerating(key: str, operator: str = "Exists", **more: str) -> NodeWish:
    return wish_of(tolerations=[{"key": key, "operator": operator, **more}])


def against(
    wish: NodeWish, *, ready: str | None = "True", name: str = "gpu-01", **spec: Any
) -> str:
    node = a_ready_node(name, zone="a")
    node["spec"] = spec
    node["status"]["conditions"] = [{"type": "Ready", "status": ready}] if ready else []
    return why_not(facts_of(node), wish)


def planned(pod: Any, *nodes: Any, used: Mapping[str, Amounts] | None = None) -> Plan:
    board = a_board(*nodes)
    board.show_use(used or {})
    wish = wish_of_pod(pod)
    return wish if isinstance(wish, Refused) else plan_pod(board, wish, [])


@pytest.mark.parametrize(
    ("ready", "key", "words"),
    [
        ("False", "not-ready", "is not ready"),
        ("Unknown", "unreachable", "is in a state that is not known"),
        (None, "unreachable", "is in a state that is not known"),
    ],
)
def test_a_node_that_is_not_known_to_be_ready_takes_those_who_tolerate_that(
    ready: str | None, key: str, words: str
) -> None:
    assert against(NodeWish(), ready=ready) == words
    assert not against(tolerating(f"node.kubernetes.io/{key}"), ready=ready)


def test_a_cordoned_node_takes_those_who_tolerate_that() -> None:
    assert against(NodeWish(), unschedulable=True) == "is cordoned"
    assert not against(tolerating("node.kubernetes.io/unschedulable"), unschedulable=True)


def test_a_node_that_nobody_has_described_yet_takes_no_pod() -> None:
    assert why_not(None, NodeWish()) == "is not known yet"


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_keeps_off_those_who_do_not_tolerate_it(effect: str) -> None:
    taints = [{"key": "team", "value": "a", "effect": effect}]
    words = f"has taint team=a:{effect}, which the pod does not tolerate"

    assert against(NodeWish(), taints=taints) == words
    assert not against(tolerating("team", "Equal", value="a"), taints=taints)
    assert against(tolerating("team", "Equal", value="b"), taints=taints) == words
    assert not against(tolerating("", "Exists"), taints=taints)
    assert not against(tolerating("team", effect=effect), taints=taints)
    assert against(tolerating("team", effect="PreferNoSchedule"), taints=taints) == words


@pytest.mark.parametrize("operator", ["Gt", "Lt", "Like"])
def test_an_operator_that_is_not_known_tolerates_nothing(operator: str) -> None:
    taints = [{"key": "level", "value": "5", "effect": "NoSchedule"}]

    assert against(tolerating("level", operator, value="5"), taints=taints)


def test_a_taint_that_only_prefers_leaves_the_node_and_makes_it_less_liked() -> None:
    node = a_ready_node()
    node["spec"]["taints"] = [{"key": "old", "effect": "PreferNoSchedule"}]

    assert not why_not(facts_of(node), NodeWish())
    assert preference(facts_of(node), NodeWish()) == (0, -1)
    assert preference(facts_of(node), tolerating("old")) == (0, 0)


def test_labels_and_required_affinity_must_both_match() -> None:
    words = "does not match the pod's node selector or affinity"
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-02"]}]}
    by_name = wish_of(affinity={"nodeAffinity": {FIELD: {"nodeSelectorTerms": [term]}}})
    nobody = wish_of(affinity={"nodeAffinity": {FIELD: {"nodeSelectorTerms": [{}]}}})

    assert not against(wish_of(nodeSelector={"zone": "a"}))
    assert against(wish_of(nodeSelector={"zone": "b"})) == words
    assert against(by_name) == words
    assert not against(by_name, name="gpu-02")
    assert against(nobody) == words


def test_weights_of_preferred_affinity_add_up() -> None:
    def term(weight: int, zone: str) -> dict[str, Any]:
        match = [{"key": "zone", "operator": "In", "values": [zone]}]
        return {"weight": weight, "preference": {"matchExpressions": match}}

    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    wish = wish_of(
        affinity={"nodeAffinity": {preferred: [term(10, "a"), term(5, "a"), term(50, "b")]}}
    )

    assert preference(facts_of(a_ready_node(zone="a")), wish) == (15, 0)
    assert preference(facts_of(a_ready_node(zone="c")), wish) == (0, 0)


def test_a_node_that_does_not_say_how_much_it_has_is_not_bounded() -> None:
    facts = facts_of(a_ready_node(offers={"memory": "1"}))

    assert not lacking(facts, {"pods": 10_000}, (("cpu", 10**9), ("memory", 1)))
    assert lacking(facts, {}, (("memory", 2),)) == Lack("memory", is_offered=True)
    for name in ("example.com/nic", "hugepages-2Mi"):
        assert lacking(facts, {}, ((name, 1),)) == Lack(name, is_offered=False)


def test_a_node_that_offers_what_cannot_be_read_takes_no_pod_and_says_so() -> None:
    facts = facts_of(a_ready_node(offers={"cpu": "many"}))

    assert "'many'" in why_not(facts, NodeWish())


def test_reasons_fold_and_amounts_are_told() -> None:
    cordoned = [a_ready_node(f"cordoned-{number}") for number in range(12)]
    for node in cordoned:
        node["spec"]["unschedulable"] = True
    small = [a_ready_node(f"small-{number}", offers={"cpu": "4"}) for number in range(3)]
    used = {"small-0": {"cpu": 3000}, "small-1": {"cpu": 500}, "small-2": {"cpu": 4000}}

    plan = planned(a_pod_with(requests={"cpu": "4"}), *cordoned, *small, used=used)

    assert isinstance(plan, NotPlaced)
    assert plan.reason == (
        "0 of 15 nodes take it: 12 are cordoned, 3 lack cpu: 4 wanted, at most 3500m left"
    )
    assert plan.node_reasons["cordoned-7"] == "is cordoned"


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (
            {"affinity": {"podAntiAffinity": {FIELD: [{"topologyKey": "zone"}]}}},
            f"spec.affinity.podAntiAffinity.{FIELD}",
            "required inter-pod anti-affinity",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0]",
            "DoNotSchedule",
        ),
        (
            {"volumes": [{"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "data"}}]},
            "spec.volumes[1].persistentVolumeClaim",
            "persistent volume claims",
        ),
        (
            {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]},
            "spec.containers[0].ports",
            "host ports",
        ),
        ({"schedulingGroup": {"name": "all"}}, "spec.schedulingGroup", "scheduling group"),
    ],
)
def test_what_the_console_does_not_do_is_refused_by_name(
    spec: dict[str, Any], field: str, words: str
) -> None:
    plan = planned(a_pod_with(**spec), a_ready_node())

    assert isinstance(plan, Refused)
    assert plan.field == field
    assert words in plan.reason


def test_what_only_prefers_is_no_reason_to_refuse() -> None:
    plan = planned(
        a_pod_with(
            affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}},
            topologySpreadConstraints=[{"whenUnsatisfiable": "ScheduleAnyway"}],
            volumes=[{"configMap": {"name": "c"}}],
        ),
        a_ready_node(),
    )

    assert isinstance(plan, Placed)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {"affinity": {"nodeAffinity": {FIELD: {"nodeSelectorTerms": [{"matchFields": 7}]}}}},
            f"spec.affinity.nodeAffinity.{FIELD}.nodeSelectorTerms[0].matchFields",
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        FIELD: {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "Near"}]}
                            ]
                        }
                    }
                }
            },
            f"spec.affinity.nodeAffinity.{FIELD}",
        ),
        ({"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}, "spec.containers"),
    ],
)
def test_broken_input_is_refused_with_the_field(spec: dict[str, Any], field: str) -> None:
    plan = planned(a_pod_with(**spec), a_ready_node())

    assert isinstance(plan, Refused)
    assert plan.field == field


def test_a_placement_that_is_not_known_is_refused_with_the_field() -> None:
    pod = a_pod_with()
    pod["metadata"]["annotations"] = {"dra-console.io/placement": "scatter"}

    assert planned(pod, a_ready_node()) == Refused(
        "expected one of pack, spread, fewest-fragments as placement, got 'scatter'",
        "metadata.annotations[dra-console.io/placement]",
    )


def test_extended_resources_that_classes_serve_are_refused_and_not_ignored() -> None:
    """Case 065."""
    objects = case_objects("065-extended-resource-basic")
    board = a_board(*(each for each in objects if each["kind"] not in {"Pod", "Node"}))
    node = a_ready_node("node-a")
    board.fleet.put_node(facts_of(node).node)
    board.put_node(node)
    pods = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Pod"}  # type: ignore[index,call-overload]

    for name, served_by in {"p": "gpu-new", "implicit": "gpu"}.items():
        wish = wish_of_pod(pods[name])
        assert isinstance(wish, PodWish)
        plan = plan_pod(board, wish, [])
        assert isinstance(plan, Refused)
        assert f"DeviceClass {served_by} serves by a claim" in plan.reason


def test_a_node_whose_device_plugin_offers_what_a_class_serves_as_well_is_taken() -> None:
    objects = case_objects("065-extended-resource-basic")
    plain, offering = a_ready_node("a"), a_ready_node("b", offers={"acme.example/gpu": "4"})
    board = a_board(*(each for each in objects if each["kind"] == "DeviceClass"), plain, offering)
    wish = wish_of_pod(a_pod_with(requests={"acme.example/gpu": "3"}))
    assert isinstance(wish, PodWish)

    assert plan_pod(board, wish, []) == Placed("b", {})

    board.take_pod(wish, node_name="b")
    full = plan_pod(board, wish, [])
    assert isinstance(full, NotPlaced)
    assert full.reason == (
        "0 of 2 nodes take it: 1 lacks acme.example/gpu: 3 wanted, 1 left, "
        "1 offers no acme.example/gpu, and no claim is made for DeviceClass gpu-new"
    )
