import pytest

from nodeagent.devices.taint import Effect, Taint


@pytest.mark.parametrize("key", ["gpu.nvidia.com/xid", "xid", "a/b_c.d-e", "x" * 63])
@pytest.mark.parametrize("value", ["", "79", "fallen.off_the-bus"])
def test_a_taint_is_spelled_as_a_label(key: str, value: str) -> None:
    taint = Taint(key, value, Effect.NO_SCHEDULE)

    assert (taint.key, taint.value, taint.effect) == (key, value, "NoSchedule")


@pytest.mark.parametrize("key", ["", "/xid", "a/", "A.b/xid", "a b", "x" * 64, f"{'a' * 254}/x"])
def test_a_key_that_the_api_would_refuse_is_refused_where_it_is_made(key: str) -> None:
    with pytest.raises(ValueError, match="expected a label's key"):
        Taint(key, "", Effect.NONE)


@pytest.mark.parametrize("value", ["a b", "-", "x" * 64, "é"])
def test_a_value_that_the_api_would_refuse_is_refused_where_it_is_made(value: str) -> None:
    with pytest.raises(ValueError, match="expected a label's value"):
        Taint("xid", value, Effect.NONE)


def test_only_a_taint_without_effect_lets_claims_through() -> None:
    assert [effect for effect in Effect if Taint("xid", "", effect).keeps_away] == [
        "NoSchedule",
        "NoExecute",
    ]
