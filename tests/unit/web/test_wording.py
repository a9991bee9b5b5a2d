from datetime import timedelta

import pytest

from dra_console.web.wording import (
    age_in_words,
    bytes_in_words,
    counted,
    model_in_words,
    reading_in_words,
)

GIBIBYTE = 2**30


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=0.42), "0.4 s"),
        (timedelta(seconds=41.4), "41 s"),
        (timedelta(minutes=14, seconds=50), "14 min"),
        (timedelta(hours=2, minutes=10), "2 h 10 min"),
        (timedelta(hours=3), "3 h"),
        (timedelta(days=1, hours=4), "1 d 4 h"),
        (timedelta(days=9, hours=4), "9 d"),
    ],
)
def test_age_is_said_in_at_most_two_units(age: timedelta, words: str) -> None:
    assert age_in_words(age) == words


def test_clock_that_runs_ahead_gives_no_negative_age() -> None:
    assert age_in_words(timedelta(seconds=-3)) == "0.0 s"


def test_memory_has_a_digit_after_the_point_only_below_ten_gibibytes() -> None:
    assert bytes_in_words(55 * GIBIBYTE + GIBIBYTE // 3) == "55 GiB"
    assert bytes_in_words(GIBIBYTE // 2) == "0.5 GiB"


@pytest.mark.parametrize(
    ("product", "memory_bytes", "words"),
    [
        ("NVIDIA H100 80GB HBM3", 80 * GIBIBYTE, "H100 80 GB"),
        ("NVIDIA A100-SXM4-40GB", 40 * GIBIBYTE, "A100 40 GB"),
        ("NVIDIA A100-SXM4-40GB", 39 * GIBIBYTE, "A100 40 GB"),
        ("NVIDIA L4", 23034 * 2**20, "L4 24 GB"),
        ("Tesla T4", 15360 * 2**20, "T4 16 GB"),
        ("NVIDIA L40S", None, "L40S"),
        ("Frobnicator", 8 * GIBIBYTE, "Frobnicator"),
        ("", None, "unnamed model"),
    ],
)
def test_product_name_is_shortened_to_what_people_say(
    product: str, memory_bytes: int | None, words: str
) -> None:
    assert model_in_words(product, memory_bytes) == words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("utilisation_percent", 0, "0 %"),
        ("memory_used_bytes", 55 * GIBIBYTE, "55 GiB"),
        ("power_milliwatts", 412_400, "412 W"),
        ("temperature_celsius", 61, "61 °C"),
        ("sm_clock_megahertz", 1980, "1980 MHz"),
        ("utilisation_percent", None, "not reported"),
        ("health", "unhealthy: Xid 79", "unhealthy: Xid 79"),
        ("health", None, "not reported"),
    ],
)
def test_reading_carries_its_unit_and_is_never_zero_for_unknown(
    name: str, value: int | str | None, words: str
) -> None:
    assert reading_in_words(name, value) == words


def test_noun_agrees_with_its_number() -> None:
    assert [counted(1, "device"), counted(3, "device")] == ["1 device", "3 devices"]
