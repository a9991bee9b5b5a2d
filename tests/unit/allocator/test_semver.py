"""Semantic versions: strict and lenient reading, and precedence."""

from itertools import pairwise

import pytest

from dra_console.allocator.semver import Semver, SemverError

ASCENDING = (
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.2.0",
    "1.10.0",
    "2.0.0",
)


@pytest.mark.parametrize("pair", list(pairwise(ASCENDING)))
def test_precedence(pair: tuple[str, str]) -> None:
    lower, higher = map(Semver.parse, pair)

    assert lower < higher


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", f"{1 << 64}.0.0"]
)
def test_strict_reading_refuses_what_the_standard_does(text: str) -> None:
    with pytest.raises(SemverError):
        Semver.parse(text)


@pytest.mark.parametrize(
    ("text", "normal"),
    [("v1", "1.0.0"), ("1.2", "1.2.0"), ("v01.02.03", "1.2.3"), ("v1.2.3-rc.1", "1.2.3-rc.1")],
)
def test_lenient_reading_completes_the_version(text: str, normal: str) -> None:
    assert str(Semver.parse_leniently(text)) == normal


@pytest.mark.parametrize("text", ["latest", "", " 1.2", "vv1", "1.2-rc.1", "1+a", "1.2.3-rc.01"])
def test_lenient_reading_still_wants_a_version(text: str) -> None:
    with pytest.raises(SemverError):
        Semver.parse_leniently(text)


def test_build_metadata_does_not_count() -> None:
    assert Semver.parse("1.0.0+a") == Semver.parse("1.0.0+b")
