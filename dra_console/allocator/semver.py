"""Semantic versions 2.0.0, as attributes and selectors use them.

Precedence is the standard's: numbers by value, a pre-release before its release, build
metadata ignored. The lenient reading is CEL's `semver(text, true)`, which accepts what
drivers of old really publish: a leading `v`, missing parts and leading zeros.
"""

import re
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Final

from dra_console.allocator.errors import AllocatorError

NUMBER: Final = r"(?:0|[1-9][0-9]*)"
IDENTIFIER: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
STRICT: Final = re.compile(
    rf"(?P<major>{NUMBER})\.(?P<minor>{NUMBER})\.(?P<patch>{NUMBER})"
    rf"(?:-(?P<pre>{IDENTIFIER}(?:\.{IDENTIFIER})*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
LENIENT_HEAD: Final = re.compile(r"v?(?P<parts>[0-9]+(?:\.[0-9]+){0,2})(?P<rest>[-+].*)?", re.ASCII)
CORE_PARTS: Final = 3
GREATEST_NUMBER: Final = (1 << 64) - 1


class SemverError(AllocatorError, ValueError):
    """A text is not a semantic version."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    """A version; neither order nor equality looks at its build metadata."""

    core: tuple[int, int, int]
    pre_release: tuple[str, ...] = ()
    build: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> "Semver":
        """Read `1.2.3-rc.1+build` strictly.

        Raises:
            SemverError: the text is not a version of the standard.

        """
        found = STRICT.fullmatch(text)
        if found is None:
            raise SemverError(f"expected a semantic version such as 1.2.3, got {text!r}")
        core = (int(found["major"]), int(found["minor"]), int(found["patch"]))
        if max(core) > GREATEST_NUMBER:
            raise SemverError(f"a number of the version {text!r} is too large")
        pre_release = tuple(found["pre"].split(".")) if found["pre"] else ()
        return cls(core, pre_release, found["build"] or "")

    @classmethod
    def parse_leniently(cls, text: str) -> "Semver":
        """Read `v1.02` as 1.2.0.

        Raises:
            SemverError: not even that.

        """
        found = LENIENT_HEAD.fullmatch(text)
        is_short = found is not None and found["parts"].count(".") < CORE_PARTS - 1
        if found is None or (is_short and found["rest"]):
            raise SemverError(f"expected a version such as v1.2, got {text!r}")
        parts = [str(int(part)) for part in found["parts"].split(".")]
        parts += ["0"] * (CORE_PARTS - len(parts))
        return cls.parse(".".join(parts) + (found["rest"] or ""))

    @property
    def precedence(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        """A key that orders as the standard says; numeric identifiers come before texts."""
        identifiers = tuple(
            (False, int(part), "") if part.isdecimal() else (True, 0, part)
            for part in self.pre_release
        )
        return self.core, not identifiers, identifiers

    def __lt__(self, other: "Semver") -> bool:
        return self.precedence < other.precedence

    def __str__(self) -> str:
        core = ".".join(map(str, self.core))
        pre_release = f"-{'.'.join(self.pre_release)}" if self.pre_release else ""
        return f"{core}{pre_release}{f'+{self.build}' if self.build else ''}"
