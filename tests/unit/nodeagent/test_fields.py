import pytest

from nodeagent.fields import FieldError, Fields


def test_a_missing_field_is_named_with_its_path() -> None:
    fields = Fields({"pool": {}}, "spec")

    with pytest.raises(FieldError, match=r"^spec\.pool\.name: expected a string, got nothing$"):
        fields.object("pool").text("name")


def test_a_field_of_another_kind_is_not_converted() -> None:
    fields = Fields({"results": [{"device": 3}], "count": True, "names": ["a", 1]}, "")

    with pytest.raises(FieldError, match=r"^results\[0\]\.device: expected a string, got the num"):
        fields.objects("results")[0].text("device")
    with pytest.raises(FieldError, match=r"^count: expected a whole number, got a boolean$"):
        fields.optional_integer("count")
    with pytest.raises(FieldError, match=r"^names\[1\]: expected a string, got the number 1$"):
        fields.texts("names")


def test_absent_and_null_are_the_same() -> None:
    fields = Fields({"name": None, "items": None, "flag": None}, "")

    assert fields.optional_text("name") is None
    assert fields.optional_object("other") is None
    assert fields.objects("items") == ()
    assert fields.flag("flag") is False


def test_an_unknown_field_is_refused_where_only_known_ones_may_be() -> None:
    with pytest.raises(FieldError, match=r"^parameters\.shring: unknown field$"):
        Fields({"kind": "x", "shring": {}}, "parameters").refuse_others(["kind", "sharing"])
