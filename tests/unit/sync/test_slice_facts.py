"""The fast look at a slice finds what the allocator's decoder finds, or leaves it to that."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.sync.slice_facts import SliceFacts, exact_facts, slice_facts

DRAW: JsonObject = {"counterSet": "gpu-0-counter-set", "counters": {"memory": {"value": "10Gi"}}}
RICH: JsonObject = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "one", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
    "spec": {
        "driver": "gpu.nvidia.com",
        "nodeName": "gpu-01",
        "perDeviceNodeSelection": False,
        "pool": {"name": "gpu-01", "generation": 3, "resourceSliceCount": 1},
        "sharedCounters": [
            {"name": "gpu-0-counter-set", "counters": {"memory": {"value": "80Gi"}}}
        ],
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {
                    "index": {"int": 0},
                    "productName": {"string": "H100"},
                    "cudaComputeCapability": {"version": "9.0.0"},
                    "shared": {"bool": True},
                },
                "capacity": {"memory": {"value": "80Gi"}, "cores": {"value": "1.5"}},
                "consumesCounters": [DRAW],
                "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}],
                "bindsToNode": False,
                "bindingConditions": ["ready"],
                "allowMultipleAllocations": True,
            },
            {"name": "gpu-1"},
        ],
    },
}

odd: st.SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**63, 2**63 - 1, -(2**63), 2**70, 1.0, 1.5, 1e300]),
    st.sampled_from(["", "x", "80Gi", "1e3", "0.5", "1Ki", "500m", "-1", "+1", " 1", "1 ", "1\n"]),
    st.sampled_from(["9" * 15, "9" * 40, "1.", ".5", "٣", "1.0000000001", "resource.k8s.io/v1"]),
    st.sampled_from(
        [[], {}, [None], ["x"], [1], [{}], [[]], {"": None}, {"value": "1"}, {"value": 1}]
    ),
    st.builds(copy.deepcopy, st.just([DRAW, DRAW])),
)
NAMES = (
    *("int", "bool", "string", "version", "ints", "strings", "value", "requestPolicy", "basic"),
    *("nodeName", "nodeSelector", "allNodes", "taints", "consumesCounters", "fromTheFuture"),
    *("compatibilityGroups", "skipNodeOperations", "bindingFailureConditions", "attributes"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in an object: what holds it, and under which key or number."""

    holder: dict[str, Json] | list[Json]
    key: str | int

    def put(self, new: Json) -> None:
        self.holder[self.key] = new  # type: ignore[index]


@st.composite
def slices(draw: st.DrawFn) -> JsonObject:
    """Take a sound slice and change a few things in it, anywhere."""
    published = copy.deepcopy(RICH)
    for _ in range(draw(st.integers(min_value=0, max_value=3))):
        places = list(places_in(published))
        place = draw(st.sampled_from(places))
        if isinstance(place.holder, dict) and draw(st.booleans()):
            place = Place(place.holder, draw(st.sampled_from(NAMES)))
        place.put(copy.deepcopy(draw(odd)))
    return published


def places_in(value: Json) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield Place(value, key)
            yield from places_in(entry)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield Place(value, index)
            yield from places_in(entry)


@given(published=slices())
@settings(max_examples=1_500)
def test_both_ways_of_reading_a_slice_find_the_same(published: JsonObject) -> None:
    assert facts_by(slice_facts, published) == facts_by(exact_facts, published)


def test_a_sound_slice_needs_no_decoder() -> None:
    facts = slice_facts(RICH)

    assert (facts.generation, facts.slice_count) == (3, 1)
    assert list(facts.device_names) == ["gpu-0", "gpu-1"]
    assert [each.name for each in facts.declared] == ["gpu-0-counter-set"]
    assert [(device, draw.name, list(draw.counters)) for device, draw in facts.draws] == [
        ("gpu-0", "gpu-0-counter-set", ["memory"])
    ]


def facts_by(read: Callable[[JsonObject], SliceFacts], published: JsonObject) -> object:
    try:
        facts = read(published)
    except DecodeError as error:
        return str(error)
    return (
        facts.generation,
        facts.slice_count,
        list(facts.device_names),
        [(each.name, sorted(each.counters)) for each in facts.declared],
        [(device, draw.name, sorted(draw.counters)) for device, draw in facts.draws],
    )
