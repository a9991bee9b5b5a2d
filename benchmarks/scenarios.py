"""The questions of the benchmark that all three allocators answer: fleet, pod, repetitions.

`performance.md` numbers them B1 to B5 and B12. A scenario is one pod asked for several
times in a row, each holding what it got, so that the answers of a stream can be compared
device for device between our allocator, the reference method and upstream's.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.claims import NOTHING_MATCHES, RAREST_BOARD, a_claim, a_request
from benchmarks.fleets import PCIE_ROOT, World, empty_fleet, gpu_fleet
from benchmarks.partitions import PARENT, PARTITIONS, SHARED_GPUS, partitioned_fleet, shared_fleet
from benchmarks.targets import Column, Target, beside, faster, within
from dra_console.allocator.model import JsonObject


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of the fleets, so that tests can run every scenario on a handful of nodes."""

    small_nodes: int = 500
    sharing_nodes: int = 1_000
    large_nodes: int = 5_000
    stream: int = 10
    """Pods that the slow allocators place in a row."""


@dataclass(frozen=True)
class Scenario:
    """One question. `pods` equal pods are placed in a row, each of them with one claim."""

    id: str
    title: str
    world: World
    claim_object: JsonObject
    pods: int
    targets: tuple[Target, ...]
    limit_seconds: float = 60
    """When the plain method and upstream are stopped."""

    is_beside_upstream: bool = False
    """Whether the first question of a process is timed as well."""

    @property
    def key(self) -> str:
        return f"{self.id} {self.title}"


def scenarios(scale: Scale) -> Iterator[Scenario]:
    """Build all scenarios, small fleets first."""
    yield from _simple(scale)
    yield from _choosy(scale)
    yield _nearly_full(scale)
    yield from _hard(scale)
    yield from _sharing(scale)
    yield from _beside_upstream(scale)


def against_filter(times: float) -> tuple[Target, ...]:
    """Want a ratio to the plain method where it asks as many nodes as kube-scheduler does.

    The ratio to the method that stops at the first node is shown beside it.
    """
    return faster(times, than=Column.FILTER), beside()


def _simple(scale: Scale) -> Iterator[Scenario]:
    nodes, gpus, one = scale.small_nodes, 10, a_claim(a_request())
    # As first fit leaves them: the first nodes are full.
    for state, full_nodes in (("empty", 0), ("half", nodes // 2), ("full", nodes * 9 // 10)):
        held = [(node, gpu) for node in range(full_nodes) for gpu in range(gpus)]
        world = gpu_fleet(f"{nodes}x{gpus} {state}", nodes=nodes, gpus=gpus, held=held)
        title = f"one GPU, {nodes} nodes x {gpus}, {state}"
        yield Scenario("B1", title, world, one, scale.stream, against_filter(100))


def _choosy(scale: Scale) -> Iterator[Scenario]:
    nodes, gpus = scale.small_nodes, 10
    one_of_each_root = [(node, gpu) for node in range(nodes - 2) for gpu in range(0, gpus, 2)]
    rare = a_claim(a_request(selectors=[RAREST_BOARD]))
    pair = a_claim(a_request(count=2), match_attribute=PCIE_ROOT)
    empty = empty_fleet(nodes=nodes, gpus=gpus)
    halves = gpu_fleet(f"{nodes}x{gpus} halves", nodes=nodes, gpus=gpus, held=one_of_each_root)
    yield Scenario(
        "B2", f"selector, {nodes} x {gpus}", empty, rare, scale.stream, against_filter(100)
    )
    yield Scenario(
        "B2", f"matchAttribute, {nodes} x {gpus}", halves, pair, scale.stream, against_filter(20)
    )


def _nearly_full(scale: Scale) -> Scenario:
    nodes, gpus = scale.large_nodes, 8
    held = [(node, gpu) for node in range(nodes * 9 // 10) for gpu in range(gpus)]
    world = gpu_fleet(f"{nodes}x{gpus} nearly full", nodes=nodes, gpus=gpus, held=held)
    title = f"one GPU, {nodes} nodes x {gpus}, 90 % held"
    return Scenario("B3", title, world, a_claim(a_request()), scale.stream, (faster(1_000),))


def _hard(scale: Scale) -> Iterator[Scenario]:
    nodes, gpus = scale.small_nodes, 8
    simple, worst = (within(1), within(100, Column.COLD)), (within(10), within(100, Column.COLD))
    empty = empty_fleet(nodes=nodes, gpus=gpus)
    all_but_one = [(node, gpu) for node in range(nodes) for gpu in range(1, gpus)]
    one_left = gpu_fleet(f"{nodes}x{gpus} one left", nodes=nodes, gpus=gpus, held=all_but_one)
    boards, in_board = 4, 7
    one_node = partitioned_fleet("64 partitions", nodes=1, boards=boards)
    yield Scenario(
        "B4",
        f"nothing matches, {nodes} x {gpus}",
        empty,
        a_claim(a_request(selectors=[NOTHING_MATCHES])),
        1,
        simple,
    )
    yield Scenario(
        "B4", f"2 GPUs, 1 free on each of {nodes}", one_left, a_claim(a_request(count=2)), 1, simple
    )
    yield Scenario(
        "B4",
        f"4 of one PCIe root, which has 2, {nodes} x {gpus}",
        empty,
        a_claim(a_request(count=4), match_attribute=PCIE_ROOT),
        1,
        worst,
    )
    yield Scenario(
        "B4",
        f"{in_board} partitions of one board, of 64 with counters",
        one_node,
        a_claim(a_request(count=in_board, device_class=PARTITIONS), match_attribute=PARENT),
        1,
        worst,
    )
    yield Scenario(
        "B4",
        f"{boards * in_board + 1} partitions, room for {boards * in_board}, of 64 with counters",
        one_node,
        a_claim(a_request(count=boards * in_board + 1, device_class=PARTITIONS)),
        1,
        worst,
        limit_seconds=3,
    )


def _sharing(scale: Scale) -> Iterator[Scenario]:
    nodes, gpus = scale.sharing_nodes, 4
    share = a_claim(a_request(device_class=SHARED_GPUS, capacity={"memory": "30Gi"}))
    for state, booked_nodes, booked in (("half", nodes, 40), ("full", nodes * 9 // 10, 60)):
        world = shared_fleet(
            f"{nodes}x{gpus} shared {state}",
            nodes=nodes,
            gpus=gpus,
            booked_nodes=booked_nodes,
            booked=booked,
        )
        title = f"30 of 80 Gi of a shared GPU, {nodes} x {gpus}, {state}"
        yield Scenario("B5", title, world, share, scale.stream, against_filter(20))


def _beside_upstream(scale: Scale) -> Iterator[Scenario]:
    gpus = 8
    for nodes in (scale.small_nodes, scale.large_nodes):
        world = empty_fleet(nodes=nodes, gpus=gpus)
        for what, times, claim in (
            ("one GPU fits on the first of", 100, a_claim(a_request())),
            ("nothing matches on", 1_000, a_claim(a_request(selectors=[NOTHING_MATCHES]))),
            (f"{gpus + 1} GPUs of {gpus} on", 1_000, a_claim(a_request(count=gpus + 1))),
        ):
            targets = (
                faster(1, than=Column.GO_FIRST, of=Column.FIRST),
                faster(1, than=Column.GO_COLD, of=Column.COLD),
                faster(1, than=Column.GO_POD, of=Column.KEPT),
                faster(times, than=Column.GO_FIRST),
                faster(times, than=Column.GO_COLD),
            )
            yield Scenario(
                "B12",
                f"{what} {nodes} nodes",
                world,
                claim,
                1,
                targets,
                is_beside_upstream=True,
            )
