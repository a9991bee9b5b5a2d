import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.errors import DecodeError
from dra_console.scheduling.whatif.decoding import decode_scenario
from dra_console.scheduling.whatif.scenario import json_of_token, token_of
from tests.unit.scheduling.whatif.asking import of_spec, of_template

NAMES = st.text("abcdefgh0123-./", min_size=1, max_size=20)
PODS = st.builds(of_template, NAMES)
EDITS: st.SearchStrategy[JsonObject] = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("addNodes"), "like": NAMES, "count": st.integers(1, 1000)}
    ),
    st.fixed_dictionaries({"type": st.sampled_from(("removeNode", "drainNode")), "node": NAMES}),
    st.fixed_dictionaries(
        {
            "type": st.just("taint"),
            "devices": st.fixed_dictionaries({"node": NAMES}, optional={"driver": NAMES}),
            "key": NAMES,
            "effect": st.sampled_from(("NoSchedule", "NoExecute")),
        },
        optional={"value": NAMES},
    ),
    st.fixed_dictionaries({"type": st.just("untaint"), "key": NAMES}),
    st.fixed_dictionaries({"type": st.just("freeClaim"), "namespace": NAMES, "name": NAMES}),
    st.fixed_dictionaries(
        {
            "type": st.just("freeClaim"),
            "holding": st.fixed_dictionaries({"driver": NAMES, "pool": NAMES, "device": NAMES}),
        }
    ),
    st.fixed_dictionaries({"type": st.just("addPods"), "pod": PODS, "count": st.integers(1, 2000)}),
    st.fixed_dictionaries(
        {
            "type": st.just("setClassSelectors"),
            "deviceClass": NAMES,
            "selectors": st.just(['device.driver == "gpu.nvidia.com"']),
        }
    ),
)
SCENARIOS = st.fixed_dictionaries(
    {"edits": st.lists(EDITS, max_size=4)}, optional={"pod": PODS, "snapshot": NAMES}
)


@settings(deadline=None)
@given(SCENARIOS)
def test_a_scenario_comes_back_from_its_address(raw: JsonObject) -> None:
    scenario = decode_scenario(raw)

    again = decode_scenario(json_of_token(token_of(scenario)))

    assert again == scenario
    assert again.to_json() == scenario.to_json()
    assert token_of(again) == token_of(scenario)


def test_members_in_another_order_have_the_same_address() -> None:
    one = decode_scenario({"edits": [{"type": "drainNode", "node": "n"}], "snapshot": "s"})
    other = decode_scenario({"snapshot": "s", "edits": [{"node": "n", "type": "drainNode"}]})

    assert token_of(one) == token_of(other)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ([], ""),
        ({"edit": []}, "edit"),
        ({"edits": {}}, "edits"),
        ({"edits": [{"type": "explode"}]}, "edits[0].type"),
        ({"edits": [{"type": "drainNode"}]}, "edits[0].node"),
        ({"edits": [{"type": "drainNode", "node": 7}]}, "edits[0].node"),
        ({"edits": [{"type": "drainNode", "node": "n", "force": True}]}, "edits[0].force"),
        ({"edits": [{"type": "addNodes", "like": "n", "count": 0}]}, "edits[0].count"),
        ({"edits": [{"type": "addNodes", "like": "n", "count": 1001}]}, "edits[0].count"),
        ({"edits": [{"type": "addNodes", "like": "n"}]}, "edits[0].count"),
        (
            {"edits": [{"type": "taint", "devices": {}, "key": "k", "effect": "NoExecute"}]},
            "edits[0].devices",
        ),
        (
            {"edits": [{"type": "taint", "devices": {"node": "n"}, "key": "k", "effect": "None"}]},
            "edits[0].effect",
        ),
        ({"edits": [{"type": "freeClaim", "namespace": "a"}]}, "edits[0].name"),
        ({"edits": [{"type": "freeClaim", "holding": {"driver": "d"}}]}, "edits[0].holding.pool"),
        ({"edits": [{"type": "addPods", "count": 3}]}, "edits[0].pod"),
        (
            {"edits": [{"type": "setClassSelectors", "deviceClass": "c", "selectors": ["1 +"]}]},
            "edits[0].selectors[0]",
        ),
        ({"edits": [{"type": "drainNode", "node": "n"}] * 33}, "edits"),
        ({"pod": {"claims": []}}, "pod.claims"),
        ({"pod": {"claims": [{}]}}, "pod.claims[0]"),
        ({"pod": of_template() | {"cpu": 1}}, "pod.cpu"),
        ({"pod": of_spec({"devices": {"requests": 1}})}, "pod.claims[0].spec.devices.requests"),
        (
            {"pod": {"claims": [{"spec": {}, "patch": [{"op": "move", "path": "/spec/x"}]}]}},
            "pod.claims[0].patch[0].op",
        ),
        (
            {"pod": {"claims": [{"spec": {}, "patch": [{"op": "add", "path": "/status"}]}]}},
            "pod.claims[0].patch[0].path",
        ),
        ({"snapshot": "x" * 300}, "snapshot"),
    ],
)
def test_what_is_no_scenario_is_refused_by_its_path(raw: Json, path: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode_scenario(raw)

    assert refused.value.path == path


@pytest.mark.parametrize("token", ["?", "bm9uc2Vuc2U", "\u00e4", "A" * 9000])
def test_an_address_that_was_cut_off_is_refused(token: str) -> None:
    with pytest.raises(DecodeError, match="scenario"):
        json_of_token(token)
