"""Which claims belong together, and what a pod waits for besides devices."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_template,
    an_allocated_claim,
)
from tests.unit.allocator.command_line import CommandLine

WORLD = [
    a_node(),
    a_node("gpu-02"),
    a_class(),
    a_slice(devices=[a_device("gpu-0"), a_device("gpu-1")]),
    a_slice(node="gpu-02", devices=[a_device("gpu-0")]),
]


def a_pod_with(
    name: str, *entries: JsonObject, made: dict[str, str | None] | None = None
) -> JsonObject:
    """Build a pod with claims; `made` names the claims that were made of templates."""
    pod = a_pod(name)
    spec, status = pod["spec"], pod["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    spec["resourceClaims"] = [*entries]
    statuses: list[Json] = [
        {"name": entry, "resourceClaimName": claim} for entry, claim in (made or {}).items()
    ]
    if statuses:
        status["resourceClaimStatuses"] = statuses
    return pod


def by_claim(entry: str, claim: str) -> JsonObject:
    return {"name": entry, "resourceClaimName": claim}


def by_template(entry: str, template: str) -> JsonObject:
    return {"name": entry, "resourceClaimTemplateName": template}


def test_claims_of_one_pod_are_explained_together(command_line: CommandLine) -> None:
    pair = [a_claim("a", requests=[a_request(count=2)]), a_claim("b")]
    pod = a_pod_with("train", by_claim("x", "a"), by_claim("y", "b"))

    together = command_line.run("explain", command_line.objects(*WORLD, *pair, pod))
    alone = command_line.run("explain", command_line.objects(*WORLD, *pair))

    assert (together.status, alone.status) == (1, 0)
    assert together.lines[0] == "Pod team-research/train, claims team-research/a, team-research/b"


def test_a_claim_made_of_a_template_is_found_by_the_pods_status(
    command_line: CommandLine,
) -> None:
    pod = a_pod_with("train", by_template("x", "one-gpu"), made={"x": "train-x-7k2p"})
    world = [*WORLD, a_template(), a_claim("train-x-7k2p"), pod]

    ended = command_line.run("explain", command_line.objects(*world))

    assert ended.status == 0
    assert ended.lines[0] == "Pod team-research/train, claim team-research/train-x-7k2p"


def test_an_allocated_claim_binds_the_others_of_its_pod(command_line: CommandLine) -> None:
    held = an_allocated_claim("a", results=[a_result(pool="gpu-02")], node="gpu-02")
    pod = a_pod_with("train", by_claim("x", "a"), by_claim("y", "b"))

    ended = command_line.run("explain", command_line.objects(*WORLD, held, a_claim("b"), pod))

    assert ended.status == 1
    assert "Claim team-research/a has" in ended.lines
    assert "request gpu: gpu.nvidia.com/gpu-02/gpu-0" in ended.lines


def test_a_claim_of_several_pods_is_explained_with_each(command_line: CommandLine) -> None:
    pods = [
        a_pod_with("p", by_claim("x", "shared")),
        a_pod_with("q", by_claim("x", "shared"), by_claim("y", "own")),
    ]
    world = [*WORLD, a_claim("shared"), a_claim("own"), *pods]

    ended = command_line.run("explain", command_line.objects(*world))

    assert "Pod team-research/p, claim team-research/shared" in ended.lines
    assert "Pod team-research/q, claims team-research/shared, team-research/own" in ended.lines


def test_pods_that_ask_for_the_same_are_explained_once(command_line: CommandLine) -> None:
    claims = [a_claim(f"c-{number}") for number in range(5)]
    pods = [a_pod_with(f"p-{number}", by_claim("x", f"c-{number}")) for number in range(5)]

    ended = command_line.run("explain", command_line.objects(*WORLD, *claims, *pods))

    assert ended.output.count("Pod ") == 1
    assert "(and 4 other pods that ask the same)" in ended.text


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_waits_for_nothing(command_line: CommandLine, phase: str) -> None:
    pod = a_pod("done", claim="other", phase=phase)

    ended = command_line.run("explain", command_line.objects(*WORLD, pod))

    assert ended.status == 0
    assert "no pod that waits" in ended.text


def test_a_pod_whose_claim_is_not_there_waits_for_it(command_line: CommandLine) -> None:
    ended = command_line.run("explain", command_line.objects(*WORLD, a_pod("p", claim="gone")))

    assert ended.status == 1
    assert ended.lines[:2] == [
        "Pod team-research/p, claim none yet",
        "DOES NOT FIT: Claim team-research/gone is not there (entry gpu).",
    ]


def test_a_pod_whose_template_is_not_there_waits_for_it(command_line: CommandLine) -> None:
    ended = command_line.run("explain", command_line.objects(*WORLD, a_pod("p", template="gone")))

    assert ended.status == 1
    assert "Template team-research/gone is not there (entry gpu)." in ended.text


def test_a_pod_without_its_claim_yet_is_explained_by_its_template(
    command_line: CommandLine,
) -> None:
    world = [*WORLD, a_template(requests=[a_request(count=3)]), a_pod("p", template="one-gpu")]

    ended = command_line.run("explain", command_line.objects(*world))

    assert ended.status == 1
    assert "none was made from template team-research/one-gpu yet (entry gpu)" in ended.text
    assert "no node has 3" in ended.text


def test_a_template_that_asks_for_nothing_makes_no_claim(command_line: CommandLine) -> None:
    pod = a_pod_with("p", by_template("x", "empty"), made={"x": None})

    ended = command_line.run("explain", command_line.objects(*WORLD, pod))

    assert ended.status == 0
    assert "no pod that waits" in ended.text


def test_a_pod_that_is_on_a_node_gets_nothing_any_more(command_line: CommandLine) -> None:
    world = [*WORLD, a_claim("c"), a_pod("p", claim="c", node="gpu-01")]

    ended = command_line.run("explain", command_line.objects(*world))

    assert "The pod is on node gpu-01 already" in ended.text


def test_a_pod_that_fits_is_said_to_wait_for_something_else(command_line: CommandLine) -> None:
    world = [*WORLD, a_claim("c"), a_pod("p", claim="c")]

    assert (
        "it does not wait for devices"
        in command_line.run("explain", command_line.objects(*world)).text
    )


def test_a_claim_that_no_pod_uses_is_said_to_wait_for_one(command_line: CommandLine) -> None:
    world = [*WORLD, a_claim("c"), a_claim("d"), a_pod("p", claim="c")]

    ended = command_line.run("explain", command_line.objects(*world))

    assert "No waiting or running pod of the dump uses this claim." in ended.text


def test_a_claim_that_is_being_deleted_is_said_to_be(command_line: CommandLine) -> None:
    leaving = a_claim("c")
    metadata = leaving["metadata"]
    assert isinstance(metadata, dict)
    metadata["deletionTimestamp"] = "2026-11-29T20:00:00Z"

    ended = command_line.run("explain", command_line.objects(*WORLD, leaving))

    assert "Claim team-research/c is being deleted." in ended.text


def test_the_special_claim_of_extended_resources_belongs_to_its_pod(
    command_line: CommandLine,
) -> None:
    pod = a_pod("p") | {
        "status": {
            "phase": "Pending",
            "extendedResourceClaimStatus": {"resourceClaimName": "p-extended-resources-x"},
        }
    }
    world = [*WORLD, a_claim("p-extended-resources-x"), pod]

    assert (
        command_line.run("explain", command_line.objects(*world)).lines[0]
        == "Pod team-research/p, claim team-research/p-extended-resources-x"
    )


def test_named_claims_alone_are_explained(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim("a"), a_claim("b"), a_claim("c"))

    ended = command_line.run(
        "explain", path, "--claim", "team-research/c", "--claim", "team-research/a"
    )

    assert [line for line in ended.lines if line.startswith("Claim ")] == [
        "Claim team-research/c",
        "Claim team-research/a",
    ]


def test_a_named_claim_brings_the_others_of_its_pod(command_line: CommandLine) -> None:
    pod = a_pod_with("train", by_claim("x", "a"), by_claim("y", "b"))
    path = command_line.objects(*WORLD, a_claim("a"), a_claim("b"), pod)

    ended = command_line.run("explain", path, "--claim", "team-research/b")

    assert ended.lines[0] == "Pod team-research/train, claims team-research/a, team-research/b"


def test_a_name_without_namespace_is_in_the_default_one(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim("a", namespace="default"))

    assert command_line.run("explain", path, "--claim", "a").lines[0] == "Claim default/a"


@pytest.mark.parametrize("option", ["--claim", "--template"])
def test_a_name_that_is_not_there_is_answered_with_names_like_it(
    command_line: CommandLine, option: str
) -> None:
    path = command_line.objects(*WORLD, a_claim("train-7"), a_template("train-8"))

    ended = command_line.run("explain", path, option, "team-research/train")

    assert (ended.status, ended.output) == (2, "")
    assert "team-research/train is not in the dump; it has team-research/train-" in ended.errors


def test_a_template_is_explained_before_any_claim_exists(command_line: CommandLine) -> None:
    path = command_line.objects(
        *WORLD, a_template("one-gpu"), a_template("ten", requests=[a_request(count=10)])
    )

    fits = command_line.run("explain", path, "--template", "team-research/one-gpu")
    waits = command_line.run("explain", path, "--template", "team-research/ten")

    assert (fits.status, waits.status) == (0, 1)
    assert fits.lines[0] == "A claim from template team-research/one-gpu"


def test_what_an_allocated_claim_has_is_told_with_what_may_surprise(
    command_line: CommandLine,
) -> None:
    results = [
        a_result("gpu-0", adminAccess=True),
        a_result("gpu-9"),
        a_result("gpu-1", shareID="s", consumedCapacity={"memory": "4Gi"}),
    ]
    held = an_allocated_claim("held", results=results, pods=("train", "watch"))
    path = command_line.objects(*WORLD, held, an_allocated_claim("free"))

    told = command_line.run("explain", path, "--claim", "team-research/held")
    unused = command_line.run("explain", path, "--claim", "team-research/free")

    assert told.status == 0
    assert "request gpu: gpu.nvidia.com/gpu-01/gpu-0, with admin access" in told.lines
    assert "request gpu: gpu.nvidia.com/gpu-01/gpu-9, NOT PUBLISHED by any slice now" in told.lines
    assert "request gpu: gpu.nvidia.com/gpu-01/gpu-1, a share with 4Gi of memory" in told.lines
    assert "reserved for pod train, pod watch" in told.lines
    assert "reserved for nobody, so that kube-scheduler may take it back" in unused.lines
