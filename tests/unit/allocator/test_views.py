"""Views: devices and nodes that are equal as far as some claims can see."""

from dataclasses import fields

from hypothesis import example, given
from hypothesis import strategies as st

from dra_console.allocator.cel.reads import Read, Reads
from dra_console.allocator.cel.selectors import projection
from dra_console.allocator.inventory import Device, ResourceSlice
from dra_console.allocator.model import Json, JsonObject, Snapshot
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.allocator.world.index import index_of
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.view import View
from dra_console.allocator.world.views import Views
from tests.builders.objects import a_device, a_node, a_slice, a_taint
from tests.unit.allocator.worlds import counters, dev, pool, snapshot

MODEL = Read("attributes", "a", "model")
NOTHING = Reads()


def view_of(world: Snapshot, *reads: Read, compares_capacity: bool = False) -> View:
    index = index_of(world)
    views = Views(index.inventory, added_taints=index.added_taints)
    return views.covering(Reads(frozenset(reads)), compares_capacity=compares_capacity)


def devices_of(world: Snapshot) -> list[PublishedDevice]:
    inventory = index_of(world).inventory
    return [each for one in inventory.pools() for each in one.generation(one.newest).devices]


def kinds(world: Snapshot, *reads: Read, compares_capacity: bool = False) -> list[int]:
    view = view_of(world, *reads, compares_capacity=compares_capacity)
    return [view.kind(each) for each in devices_of(world)]


def shapes(world: Snapshot, *reads: Read) -> list[int]:
    view = view_of(world, *reads)
    return [view.shape(node) for node in world.nodes]


def model(name: str, text: str) -> JsonObject:
    return dev(name, attributes={"model": text, "uuid": name})


def test_devices_that_differ_in_what_nobody_reads_are_of_one_kind() -> None:
    world = snapshot(pool("p", model("x", "big"), model("y", "big"), model("z", "small")))

    assert kinds(world) == [0, 0, 0]
    assert kinds(world, MODEL) == [0, 0, 1]


def test_an_attribute_is_the_same_with_and_without_the_drivers_domain() -> None:
    qualified = dev("y", attributes={"a/model": "big"})
    both = dev("z", attributes={"a/model": "small", "model": "big"})
    world = snapshot(pool("p", model("x", "big"), qualified, both))

    assert kinds(world, MODEL) == [0, 0, 1]


def test_values_of_different_types_are_of_different_kinds() -> None:
    values: list[Json] = [1, True, {"string": "1"}, {"version": "1.0.0"}, {"ints": [1]}]
    one_each = [dev(f"x{at}", attributes={"model": each}) for at, each in enumerate(values)]

    assert kinds(snapshot(pool("p", *one_each)), MODEL) == [0, 1, 2, 3, 4]


def test_what_every_claim_sees_tells_devices_apart() -> None:
    uses: dict[str, dict[str, str]] = {"c": {"mem": "1"}}
    world = snapshot(
        pool(
            "p",
            dev("plain"),
            dev("tainted", taints=[a_taint()]),
            dev("drawing", uses=uses),
            dev("shared", allowMultipleAllocations=True),
            dev("bound", bindingConditions=["ready"], bindingFailureConditions=["failed"]),
            dev("faulty", attributes={"model": {"version": "v1"}}),
            dev("elsewhere", bindsToNode=True),
        ),
        pool("p", dev("foreign"), driver="b"),
    )

    found = kinds(world)
    assert found == [0, 1, 2, 3, 4, 5, 0, 6]


def test_the_moment_of_a_taint_tells_nothing_apart() -> None:
    later = {**a_taint(), "timeAdded": "2026-11-29T10:00:00Z"}
    world = snapshot(pool("p", dev("x", taints=[a_taint()]), dev("y", taints=[later])))

    assert kinds(world) == [0, 0]


def test_capacity_tells_apart_where_claims_ask_for_it_and_among_shared_devices() -> None:
    sizes = [dev("x", mem="1Gi"), dev("y", mem="2Gi")]
    shared = [each | {"allowMultipleAllocations": True} for each in sizes]

    assert kinds(snapshot(pool("p", *sizes))) == [0, 0]
    assert kinds(snapshot(pool("p", *sizes)), compares_capacity=True) == [0, 1]
    assert kinds(snapshot(pool("p", *shared))) == [0, 1]


def test_nodes_with_equal_devices_in_equal_order_have_one_shape() -> None:
    world = snapshot(
        a_node("o"),
        a_node("q"),
        pool("p", model("x", "big"), model("y", "small")),
        pool("q", model("k", "big"), model("l", "small"), node="m"),
        pool("r", model("l", "small"), model("k", "big"), node="o"),
    )

    assert shapes(world) == [0, 0, 0, 1]
    assert shapes(world, MODEL) == [0, 0, 1, 2]


def test_two_pools_do_not_have_the_shape_of_one() -> None:
    world = snapshot(pool("p", "x", "y"), pool("q", "x", node="m"), pool("r", "y", node="m"))

    first, second = shapes(world)
    assert first != second


def test_a_pool_that_is_not_whole_changes_the_shape() -> None:
    world = snapshot(pool("p", "x", part="1/2"), pool("q", "x", node="m"))

    first, second = shapes(world)
    assert first != second


def test_shapes_tell_which_devices_the_node_itself_can_use() -> None:
    both = pool(
        "p",
        dev("x", nodeName="n"),
        dev("y", nodeName="m"),
        dev("z", allNodes=True),
        node=None,
        perDeviceNodeSelection=True,
    )

    first, second = shapes(snapshot(both))
    assert first != second


def test_shared_counters_are_part_of_the_shape() -> None:
    drawing = dev("x", uses={"c": {"mem": "1"}})
    world = snapshot(
        pool("p", drawing, part="1/2"),
        counters("p", part="2/2", c={"mem": "8"}),
        pool("q", drawing, part="1/2", node="m"),
        pool("q", part="2/2", node="m", sharedCounters=[]),
    )

    first, second = shapes(world)
    assert first != second


def test_a_view_serves_claims_that_read_less() -> None:
    views = Views(index_of(snapshot()).inventory, added_taints=AddedTaints())
    memory = Read("capacity", "a", "memory")

    first = views.covering(Reads(frozenset({MODEL})))
    second = views.covering(Reads(frozenset({memory})))

    assert views.covering(NOTHING) is first
    assert second is not first
    assert views.covering(Reads(frozenset({MODEL, memory}))) is second
    assert views.covering(NOTHING, compares_capacity=True).compares_capacity
    assert views.covering(Reads(is_whole_device=True)).reads.is_whole_device


def test_every_field_of_a_device_is_either_seen_or_known_to_be_no_concern() -> None:
    """Fails when the API grows a field: decide whether a search can see it."""
    seen_in_kinds = {
        "attributes",
        "capacity",
        "consumes_counters",
        "taints",
        "binding_conditions",
        "allow_multiple_allocations",
    }
    seen_in_shapes = {"reach"}
    only_in_results = {"name", "binds_to_node", "binding_failure_conditions"}
    of_slices = {
        "name",
        "driver",
        "pool",
        "generation",
        "resource_slice_count",
        "reach",
        "per_device_node_selection",
        "devices",
        "shared_counters",
        "skip_node_operations",
        "unknown_fields",
    }

    assert {
        each.name for each in fields(Device)
    } == seen_in_kinds | seen_in_shapes | only_in_results
    assert {each.name for each in fields(ResourceSlice)} == of_slices


ATTRIBUTES = st.dictionaries(
    st.sampled_from(["model", "a/model", "b/model", "root", "x.io/root"]),
    st.sampled_from([1, 2, True, "1", {"version": "1.0.0"}, {"strings": ["1"]}, {}]),
)
READS = st.sets(
    st.builds(
        Read,
        group=st.sampled_from(["attributes", "capacity"]),
        domain=st.sampled_from(["a", "b", "x.io"]),
        name=st.sampled_from([None, "model", "root", "memory"]),
    ),
    max_size=3,
)


@example(
    bodies=[({"model": 1, "a/model": 1}, None), ({"model": 2, "a/model": 1}, None)],
    reads={Read("attributes", "a", None)},
)
@example(
    bodies=[({"model": 1}, None), ({"a/model": 1}, None)],
    reads={Read("attributes", "a", None)},
)
@given(
    bodies=st.lists(st.tuples(ATTRIBUTES, st.sampled_from([None, "1Gi", "2Gi"])), max_size=4),
    reads=READS,
)
def test_devices_are_of_one_kind_if_and_only_if_no_expression_tells_them_apart(
    bodies: list[tuple[dict[str, Json], str | None]], reads: set[Read]
) -> None:
    listed = [
        a_device(f"x{at}", memory=memory, attributes=attributes)
        for at, (attributes, memory) in enumerate(bodies)
    ]
    world = snapshot(a_slice("s", node="n", driver="a", pool="p", devices=listed))
    view = view_of(world, *reads)

    devices = devices_of(world)
    for left in devices:
        for right in devices:
            is_same = projection(left.facts, view.reads) == projection(right.facts, view.reads)
            assert (view.kind(left) == view.kind(right)) == is_same
