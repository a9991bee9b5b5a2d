from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.quantity import quantity_of_bytes, value_of


@given(st.integers(0, 2**62))
def test_a_size_is_spelled_without_loss(size_bytes: int) -> None:
    assert value_of(quantity_of_bytes(size_bytes)) == size_bytes


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("1Gi", 2**30),
        ("1073741824", 2**30),
        ("1e3", 1000),
        ("1E3", 1000),
        ("0.5", Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("1E", 10**18),
        (".5Gi", 2**29),
        ("-1k", -1000),
        ("+2", 2),
    ],
)
def test_spellings_have_the_value_that_kubernetes_gives_them(
    quantity: str, value: Fraction
) -> None:
    assert value_of(quantity) == value


@pytest.mark.parametrize("text", ["", "1GiB", "Gi", "1 Gi", "1e", "0x10", "\uff11"])
def test_what_is_no_quantity_has_no_value(text: str) -> None:
    assert value_of(text) is None


def test_sizes_use_the_largest_suffix_that_leaves_no_rest() -> None:
    assert quantity_of_bytes(81559 * 2**20) == "81559Mi"
    assert quantity_of_bytes(80 * 2**30) == "80Gi"
    assert quantity_of_bytes(1023) == "1023"
    assert quantity_of_bytes(0) == "0"
