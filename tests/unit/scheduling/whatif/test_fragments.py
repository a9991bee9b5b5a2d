from dra_console.allocator.api_json import JsonObject
from dra_console.scheduling.whatif.fragments import MOST_SHAPES
from dra_console.scheduling.whatif.report import fragments_json
from dra_console.web.presenters.whatif_fragments import shown_fragments
from tests.builders.objects import (
    a_class,
    a_counter_set,
    a_device,
    a_node,
    a_request,
    a_slice,
    a_template,
)
from tests.unit.scheduling.whatif.asking import EVERYTHING, World, a_fleet


def test_what_no_template_can_use_is_a_fragment() -> None:
    pairs = a_template("pair", namespace="team-research", requests=[a_request(count=2)])
    world = World(
        a_class(),
        *(a_node(name) for name in ("gpu-01", "gpu-02")),
        *(
            a_slice(node=name, devices=[a_device(f"gpu-{at}") for at in range(3)])
            for name in ("gpu-01", "gpu-02")
        ),
        pairs,
    )

    left = world.ask().fragments

    assert (left.free, left.devices_left) == (6, 2)
    assert left.shapes == ((("team-research", "pair"),),)
    one = a_template("one", namespace="team-vision")
    assert World(*world.objects, one).ask().fragments.devices_left == 0


def test_devices_that_nodes_share_are_counted_once() -> None:
    fabric = [a_device(f"fabric-{at}") for at in range(3)]
    world = World(
        a_class(),
        *(a_node(name) for name in ("gpu-01", "gpu-02")),
        a_slice(node=None, pool="fabric", allNodes=True, devices=fabric),
        a_template("pair", namespace="team-research", requests=[a_request(count=2)]),
    )

    left = world.ask().fragments

    assert (left.free, left.devices_left, left.unread_nodes) == (3, 1, 0)
    [rest] = left.left
    assert (rest.nodes, rest.devices) == (("gpu-01", "gpu-02"), ("fabric-2",))
    own = a_slice(node="gpu-01", devices=[a_device()])
    assert World(*world.objects, own).ask().fragments.devices_left == 0


def test_room_on_a_board_for_partitions_that_no_template_asks_for_is_a_fragment() -> None:
    board = a_counter_set("gpu-0-board", {"memory": "80Gi"})

    def part(name: str, memory: str) -> JsonObject:
        return a_device(
            name,
            memory=memory,
            attributes={"profile": memory},
            consumes={"gpu-0-board": {"memory": memory}},
        )

    halves = 'device.attributes["gpu.nvidia.com"].profile == "50Gi"'
    world = World(
        a_class(),
        a_node("gpu-01"),
        a_slice("boards", node="gpu-01", slice_count=2, sharedCounters=[board]),
        a_slice(
            "parts",
            node="gpu-01",
            slice_count=2,
            devices=[part("large-0", "50Gi"), part("small-0", "30Gi"), part("small-1", "30Gi")],
        ),
        a_template("large", namespace="team-research", requests=[a_request(selectors=[halves])]),
    )

    [left] = world.ask().fragments.left

    assert left.devices == ()
    assert left.partitions == {"gpu-0-board": ("small-0", "small-1")}


def test_a_template_that_cannot_be_tried_is_told_and_the_others_count() -> None:
    broken = a_template(
        "broken", namespace="team-research", requests=[a_request(selectors=["no.such.thing"])]
    )

    left = World(*a_fleet(broken)).ask().fragments

    assert left.broken == (("team-research", "broken"),)
    words = shown_fragments(left, left, rights=EVERYTHING).shapes
    assert words.endswith(". Cannot be tried: team-research/broken")
    assert left.devices_left == 0


def test_specs_of_templates_beyond_those_that_are_tried_are_counted_in_the_answer() -> None:
    pairs = [
        a_template(
            f"pair-{at}",
            namespace="team-research",
            requests=[a_request(count=2, selectors=[f'device.driver != "of-others-{at}"'])],
        )
        for at in range(MOST_SHAPES)
    ]
    one, again = (a_template(name, namespace="team-vision") for name in ("one", "again"))
    devices = [a_device(f"gpu-{at}") for at in range(3)]
    fleet = (a_class(), a_node("gpu-01"), a_slice(node="gpu-01", devices=devices))

    whole, cut = (World(*fleet, *all_).ask().fragments for all_ in (pairs, [*pairs, one, again]))

    told = [fragments_json(each, rights=EVERYTHING) for each in (whole, cut)]
    assert [each["specsNotLookedAt"] for each in told] == [0, 1]
    assert [each["isUpperBound"] for each in told] == [False, True]
    words = [shown_fragments(each, each, rights=EVERYTHING).summary for each in (whole, cut)]
    assert words == [
        "1 of 3 free devices",
        "1 of 3 free devices; fewer, if templates of 1 spec that were not looked at can use some",
    ]
