"""Pods that ask for devices by an extended resource."""

from dra_console.allocator.model import JsonObject
from tests.builders.objects import a_class, a_device, a_node, a_pod, a_slice
from tests.unit.allocator.command_line import CommandLine
from tests.unit.allocator.test_command_allocate import written

RESOURCE = "example.com/gpu"


def a_pod_asking(
    name: str, count: str, *, resource: str = RESOURCE, **status: JsonObject
) -> JsonObject:
    pod = a_pod(name)
    container: JsonObject = {"name": "main", "resources": {"limits": {resource: count}}}
    return pod | {"spec": {"containers": [container]}, "status": {"phase": "Pending", **status}}


WORLD = [
    a_node("n1"),
    a_node("n2"),
    a_class(extendedResourceName=RESOURCE),
    a_slice(node="n1", devices=[a_device("gpu-0")]),
    a_slice(node="n2", devices=[a_device("gpu-0"), a_device("gpu-1")]),
]


def test_a_pod_that_asks_by_an_extended_resource_is_explained(command_line: CommandLine) -> None:
    two = command_line.run("explain", command_line.objects(*WORLD, a_pod_asking("p", "2")))
    three = command_line.run("explain", command_line.objects(*WORLD, a_pod_asking("p", "3")))

    assert (two.status, three.status) == (0, 1)
    assert "Fits on n2: gpu-0, gpu-1." in two.lines
    assert "Asks for example.com/gpu as an extended resource" in two.text


def test_each_pod_gets_a_claim_of_its_own(command_line: CommandLine) -> None:
    pods = [a_pod_asking("p", "1"), a_pod_asking("q", "1")]

    ended = command_line.run("allocate", command_line.objects(*WORLD, *pods))

    assert written(ended) == {
        "team-research/p-extended-resources": ["n1/gpu-0"],
        "team-research/q-extended-resources": ["n2/gpu-0"],
    }


def test_a_node_with_a_device_plugin_is_left_out(command_line: CommandLine) -> None:
    plugin = a_node("n2") | {"status": {"allocatable": {RESOURCE: "4"}}}
    path = command_line.objects(WORLD[0], plugin, *WORLD[2:], a_pod_asking("p", "2"))

    ended = command_line.run("explain", path)

    assert ended.status == 1
    assert "a device plugin of the node provides the extended resources" in ended.text
    assert command_line.run("allocate", path).output == ""


def test_a_pod_whose_claim_was_made_is_explained_by_it(command_line: CommandLine) -> None:
    made: JsonObject = {"resourceClaimName": "p-extended-resources-7k2"}
    pod = a_pod_asking("p", "2", extendedResourceClaimStatus=made)

    ended = command_line.run("explain", command_line.objects(*WORLD, pod))

    assert "Claim team-research/p-extended-resources-7k2 is not there" in ended.text


def test_a_resource_that_no_class_stands_for_is_no_matter_of_devices(
    command_line: CommandLine,
) -> None:
    pod = a_pod_asking("p", "2", resource="example.com/other")

    ended = command_line.run("explain", command_line.objects(*WORLD, pod))

    assert "no pod that waits" in ended.text


def test_an_amount_that_is_none_is_broken_input(command_line: CommandLine) -> None:
    node = a_node() | {"status": {"allocatable": {RESOURCE: "some"}}}
    path = command_line.objects(a_pod_asking("p", "many"), node)

    ended = command_line.run("explain", path)

    assert ended.status == 2
    assert (
        f"{path}: items[0]: Pod team-research/p: "
        "spec.containers[0].resources.limits[example.com/gpu]: "
    ) in ended.errors
    assert f"{path}: items[1]: Node gpu-01: status.allocatable[example.com/gpu]: " in ended.errors
