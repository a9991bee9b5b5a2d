"""Kubernetes quantities: reading, comparing, and the canonical form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.errors import QuantityError
from dra_console.allocator.quantity import MAX_NANOS, NANO, Quantity, SuffixFamily
from tests.builders.strategies import quantities


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("80Gi", "80Gi"),
        ("81920Mi", "80Gi"),
        ("1.5Gi", "1536Mi"),
        ("1023Ki", "1023Ki"),
        ("512", "512"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("2500M", "2500M"),
        ("10G", "10G"),
        ("12e6", "12e6"),
        ("12E6", "12e6"),
        ("1e3", "1e3"),
        ("1E", "1E"),
        ("100", "100"),
        ("-1Gi", "-1Gi"),
        ("+5", "5"),
        (".5", "500m"),
        ("5.", "5"),
        ("0.5Ki", "512"),
        ("0.1n", "1n"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "Pi", "e-10", "e", "1.2.3", "1 Gi", "1gi", "1K", "٣", "1e", "1e99999", "0x1"]
)
def test_what_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="expected"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["u", "+", "-m", ".", "Ki", "-.n", "E", "e1", "+E0", "Ti", "e-9"])
def test_a_quantity_without_digits_is_zero_as_upstream_reads_it(text: str) -> None:
    assert Quantity.parse(text) == Quantity(0)


def test_spellings_of_one_value_are_equal() -> None:
    assert Quantity.parse("80Gi") == Quantity.parse("81920Mi") == Quantity.parse("85899345920")
    assert len({Quantity.parse("1"), Quantity.parse("1000m")}) == 1


def test_values_are_ordered_not_spellings() -> None:
    assert Quantity.parse("9Gi") < Quantity.parse("10Gi")
    assert Quantity.parse("1G") < Quantity.parse("1Gi")


def test_fractions_of_a_billionth_are_rounded_up() -> None:
    assert Quantity.parse("0.0000000001").nanos == 1
    assert Quantity.parse("-0.0000000001").nanos == -1


def test_values_with_a_binary_suffix_are_capped_at_the_greatest_int64() -> None:
    assert Quantity.parse("9Ei").nanos == MAX_NANOS
    assert Quantity.parse("-9223372036854775807Ki").nanos == -MAX_NANOS


def test_other_values_are_not_capped() -> None:
    assert Quantity.parse("100E") > Quantity.parse("20E") > Quantity(MAX_NANOS)
    assert Quantity.parse("1e999").nanos == 10**1008


@given(quantities())
def test_printed_quantity_reads_back_to_the_same_value(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity


@given(quantities(), quantities())
def test_sum_and_difference_are_exact(left: Quantity, right: Quantity) -> None:
    assert (left + right) - right == left


@given(st.integers(-(2**63 - 1), 2**63 - 1))
def test_whole_numbers_read_as_themselves(number: int) -> None:
    assert Quantity.parse(str(number)).nanos == number * NANO


def test_family_of_a_sum_is_that_of_the_first() -> None:
    total = Quantity.parse("1Gi") + Quantity.parse("1G")

    assert total.family is SuffixFamily.BINARY
