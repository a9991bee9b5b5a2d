import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError
from dra_console.devcluster.patches import PatchFailedError, apply_operations
from dra_console.devcluster.strategic import strategic_merge
from dra_console.kube.merging import merged_value

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        # The examples of RFC 7396, appendix A.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Json, patch: Json, merged: Json) -> None:
    assert merged_value(target, patch) == merged


@given(JSON_VALUES, JSON_VALUES)
def test_merging_a_patch_twice_is_merging_it_once(target: Json, patch: Json) -> None:
    once = merged_value(target, patch)

    assert merged_value(once, patch) == once


@pytest.mark.parametrize(
    ("operations", "patched"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": {"x": [1, 2]}, "b": 2}),
        ([{"op": "add", "path": "/a/x/1", "value": 9}], {"a": {"x": [1, 9, 2]}}),
        ([{"op": "add", "path": "/a/x/-", "value": 3}], {"a": {"x": [1, 2, 3]}}),
        ([{"op": "replace", "path": "/a/x/0", "value": 7}], {"a": {"x": [7, 2]}}),
        ([{"op": "remove", "path": "/a/x/0"}], {"a": {"x": [2]}}),
        ([{"op": "move", "from": "/a/x", "path": "/y"}], {"a": {}, "y": [1, 2]}),
        ([{"op": "copy", "from": "/a/x/1", "path": "/y"}], {"a": {"x": [1, 2]}, "y": 2}),
        ([{"op": "test", "path": "/a/x/1", "value": 2}], {"a": {"x": [1, 2]}}),
        ([{"op": "add", "path": "/a~1b~0c", "value": 1}], {"a": {"x": [1, 2]}, "a/b~c": 1}),
    ],
)
def test_json_patch(operations: Json, patched: Json) -> None:
    target: JsonObject = {"a": {"x": [1, 2]}}

    assert apply_operations(target, operations) == patched
    assert target == {"a": {"x": [1, 2]}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "add", "path": "/missing/x", "value": 1},
        {"op": "add", "path": "/a/x/9", "value": 1},
        {"op": "test", "path": "/a/x/0", "value": 2},
    ],
)
def test_json_patch_that_does_not_fit_fails(operation: JsonObject) -> None:
    with pytest.raises(PatchFailedError, match=r"patch\[0\]"):
        apply_operations({"a": {"x": [1, 2]}}, [operation])


@pytest.mark.parametrize(
    ("operations", "place"),
    [
        ({"op": "add"}, "patch: expected a list"),
        ([1], r"patch\[0\]: expected an object"),
        ([{"op": "add", "path": "a", "value": 1}], r"patch\[0\]\.path"),
        ([{"op": "add", "path": "/a"}], r"patch\[0\]\.value"),
        ([{"op": "spin", "path": "/a", "value": 1}], r"patch\[0\]\.op"),
    ],
)
def test_what_is_no_json_patch_is_refused_with_its_place(operations: Json, place: str) -> None:
    with pytest.raises(BadRequestError, match=place):
        apply_operations({"a": 1}, operations)


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        pytest.param(
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]},
            id="keyed list merges by its key",
        ),
        pytest.param(
            {"reservedFor": [{"uid": "1"}, {"uid": "2"}]},
            {"reservedFor": [{"uid": "1", "$patch": "delete"}]},
            {"reservedFor": [{"uid": "2"}]},
            id="item is deleted by its key",
        ),
        pytest.param(
            {"reservedFor": []},
            {"reservedFor": [{"uid": "1", "$patch": "delete"}]},
            {"reservedFor": []},
            id="deleting an absent item changes nothing",
        ),
        pytest.param(
            {"containers": [{"name": "a"}]},
            {"containers": [{"$patch": "replace"}, {"name": "b"}]},
            {"containers": [{"name": "b"}]},
            id="list is replaced on demand",
        ),
        pytest.param(
            {"requests": [{"name": "a"}]},
            {"requests": [{"name": "b"}]},
            {"requests": [{"name": "b"}]},
            id="atomic list is replaced",
        ),
        pytest.param(
            {"finalizers": ["a"]},
            {"finalizers": ["b", "a"]},
            {"finalizers": ["a", "b"]},
            id="set grows",
        ),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="set shrinks by directive",
        ),
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "a", "image": "1"}],
            },
            {"containers": [{"name": "b"}, {"name": "a", "image": "1"}]},
            id="order is set by directive",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {
                "volumes": [
                    {"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}
                ]
            },
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            id="keys that are not retained go",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1", "b": "2"}}},
            {"metadata": {"labels": {"a": None, "c": "3"}}},
            {"metadata": {"labels": {"b": "2", "c": "3"}}},
            id="maps merge and null removes",
        ),
        pytest.param(
            {"securityContext": {"a": 1}},
            {"securityContext": {"$patch": "replace", "b": 2}},
            {"securityContext": {"b": 2}},
            id="map is replaced on demand",
        ),
    ],
)
def test_strategic_merge(target: JsonObject, patch: JsonObject, merged: JsonObject) -> None:
    before = str(target)

    assert strategic_merge(target, patch) == merged
    assert str(target) == before


def test_item_of_a_keyed_list_without_its_key_is_refused_with_its_path() -> None:
    with pytest.raises(BadRequestError, match=r"spec\.containers\[0\]\.name"):
        strategic_merge({}, {"spec": {"containers": [{"image": "1"}]}})
