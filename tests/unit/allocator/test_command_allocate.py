"""`allocate`: the allocation that would be written, claim by claim."""

import yaml

from dra_console.allocator.api_json import objects_of
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject
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
from tests.unit.allocator.command_line import CommandLine, Ended
from tests.unit.allocator.test_command_inquiries import a_pod_with, by_claim

WORLD = [
    a_node(),
    a_node("gpu-02"),
    a_class(),
    a_slice(devices=[a_device("gpu-0"), a_device("gpu-1")]),
    a_slice(node="gpu-02", devices=[a_device("gpu-0")]),
]


def written(ended: Ended) -> dict[str, list[str]]:
    """Read the YAML output back: claims and their devices."""
    claims = [decode_claim(each) for each in yaml.safe_load_all(ended.output)]
    return {
        claim.key: [f"{each.pool}/{each.device}" for each in claim.allocation.results]
        for claim in claims
        if claim.allocation is not None
    }


def test_each_claim_gets_what_the_ones_before_it_leave(command_line: CommandLine) -> None:
    claims = [a_claim(f"c-{number}") for number in range(4)]

    ended = command_line.run("allocate", command_line.objects(*WORLD, *claims))

    assert ended.status == 1
    assert written(ended) == {
        "team-research/c-0": ["gpu-01/gpu-0"],
        "team-research/c-1": ["gpu-01/gpu-1"],
        "team-research/c-2": ["gpu-02/gpu-0"],
    }
    assert ended.errors == (
        "dra-explain: Claim team-research/c-3: cannot allocate all claims (dra-explain says why)\n"
    )


def test_claims_of_one_pod_get_devices_on_one_node(command_line: CommandLine) -> None:
    pod = a_pod_with("train", by_claim("x", "a"), by_claim("y", "b"))
    world = [*WORLD, a_claim("a"), a_claim("b"), pod]

    ended = command_line.run("allocate", command_line.objects(*world))

    assert ended.status == 0
    assert written(ended) == {
        "team-research/a": ["gpu-01/gpu-0"],
        "team-research/b": ["gpu-01/gpu-1"],
    }
    assert "# Pod team-research/train, claims team-research/a, team-research/b, on node gpu-01" in (
        ended.lines
    )


def test_pods_that_ask_for_the_same_get_devices_each(command_line: CommandLine) -> None:
    claims = [a_claim(f"c-{number}") for number in range(2)]
    pods = [a_pod(f"p-{number}", claim=f"c-{number}") for number in range(2)]

    ended = command_line.run("allocate", command_line.objects(*WORLD, *claims, *pods))

    assert len(written(ended)) == 2


def test_a_claim_of_two_pods_is_allocated_once(command_line: CommandLine) -> None:
    pods = [a_pod("p", claim="c"), a_pod_with("q", by_claim("x", "c"), by_claim("y", "d"))]

    ended = command_line.run(
        "allocate", command_line.objects(*WORLD, a_claim("c"), a_claim("d"), *pods)
    )

    assert written(ended) == {
        "team-research/c": ["gpu-01/gpu-0"],
        "team-research/d": ["gpu-01/gpu-1"],
    }


def test_an_allocated_claim_binds_the_others_of_its_pod(command_line: CommandLine) -> None:
    held = an_allocated_claim("a", results=[a_result("gpu-9", pool="gpu-02")], node="gpu-02")
    pod = a_pod_with("train", by_claim("x", "a"), by_claim("y", "b"))

    ended = command_line.run("allocate", command_line.objects(*WORLD, held, a_claim("b"), pod))

    assert written(ended) == {"team-research/b": ["gpu-02/gpu-0"]}


def test_an_allocated_claim_is_left_alone(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, an_allocated_claim("a"))

    ended = command_line.run("allocate", path, "--claim", "team-research/a")

    assert (ended.status, ended.output) == (0, "")
    assert "has its devices already" in ended.errors


def test_json_is_a_list_of_claims(command_line: CommandLine) -> None:
    ended = command_line.run(
        "allocate", command_line.objects(*WORLD, a_claim("c")), "--output", "json"
    )

    assert (ended.json["apiVersion"], ended.json["kind"]) == ("v1", "List")
    (claim,) = objects_of(ended.json["items"])
    assert (claim["apiVersion"], claim["kind"]) == ("resource.k8s.io/v1", "ResourceClaim")
    assert decode_claim(claim).allocation is not None


def test_what_two_claims_share_is_written_twice(command_line: CommandLine) -> None:
    config: list[JsonObject] = [
        {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"mode": "fast"}}}
    ]
    world = [*WORLD[:2], *WORLD[3:], a_class(config=[*config]), a_claim("a"), a_claim("b")]

    ended = command_line.run("allocate", command_line.objects(*world))

    assert "&" not in ended.output
    assert ended.output.count("mode: fast") == 2


def test_a_pod_that_waits_for_a_claim_gets_nothing(command_line: CommandLine) -> None:
    pod = a_pod_with("p", by_claim("x", "a"), by_claim("y", "gone"))

    ended = command_line.run("allocate", command_line.objects(*WORLD, a_claim("a"), pod))

    assert (ended.status, ended.output) == (1, "")
    assert "Claim team-research/gone is not there (entry y)." in ended.errors


def test_a_template_is_allocated_as_if_its_claim_were_there(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_template("one"))

    ended = command_line.run("allocate", path, "--template", "team-research/one")

    assert written(ended) == {"team-research/one": ["gpu-01/gpu-0"]}


def test_broken_input_ends_with_2_and_says_where(command_line: CommandLine) -> None:
    broken = a_claim(requests=[a_request(selectors=["1 +"])])
    path = command_line.objects(*WORLD, broken, a_claim("sound"))

    ended = command_line.run("allocate", path)

    assert ended.status == 2
    assert f"dra-explain: {path}: items[5]: ResourceClaim team-research/train: spec" in ended.errors
    assert list(written(ended)) == ["team-research/sound"]


def test_only_named_nodes_are_used(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim("c"))

    ended = command_line.run("allocate", path, "--node", "gpu-02")

    assert written(ended) == {"team-research/c": ["gpu-02/gpu-0"]}
