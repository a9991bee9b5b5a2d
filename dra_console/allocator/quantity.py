"""Kubernetes quantities, exact.

A quantity is a decimal number with a suffix (`80Gi`, `500m`, `12e6`). It is kept as a
whole number of billionths, which is the finest step the API server stores, so sums and
comparisons never round. Two spellings of one value are equal; the suffix family only
decides how the value is printed, in the API server's canonical form.

Source: k8s.io/apimachinery `resource.Quantity`, as documented in the API reference.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

from dra_console.allocator.errors import QuantityError

NANO: Final = 10**9
MAX_NANOS: Final = (2**63 - 1) * NANO
"""The API server caps larger values with a binary suffix at the greatest int64, no others."""

DECIMAL_EXPONENTS: Final[Mapping[str, int]] = MappingProxyType(
    {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
)
BINARY_EXPONENTS: Final[Mapping[str, int]] = MappingProxyType(
    {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
)
DECIMAL_SUFFIXES: Final[Mapping[int, str]] = MappingProxyType(
    {exponent: suffix for suffix, exponent in DECIMAL_EXPONENTS.items()}
)
BINARY_SUFFIXES: Final[Mapping[int, str]] = MappingProxyType(
    {exponent: suffix for suffix, exponent in BINARY_EXPONENTS.items()} | {0: ""}
)
MAX_SUFFIX_EXPONENT: Final = 18
LARGEST_BINARY: Final = frozenset({"Pi", "Ei"})
MAX_EXPONENT_DIGITS: Final = 3
"""Longer exponents are far outside int64 and only serve to fill memory."""
MAX_DIGITS: Final = 1000
"""Likewise; an API server takes thousands of digits, and Python refuses to convert those."""

KIBI: Final = 1024
SPELLING: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)


class SuffixFamily(StrEnum):
    """How a quantity was spelled, and so how it is printed."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount of something, compared by value."""

    nanos: int
    """The value in billionths of the unit, rounded up (away from zero) as the API server does."""

    family: SuffixFamily = field(default=SuffixFamily.DECIMAL, compare=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `80Gi`, `1.5`, `500m` or `12e6`.

        Raises:
            QuantityError: the text is none of these.

        """
        found = SPELLING.fullmatch(text)
        if found is None or not (found["whole"] or found["part"] or _may_lack_digits(found)):
            raise QuantityError(f"expected a quantity such as 80Gi, 500m or 2, got {text!r}")
        part = found["part"] or ""
        if len(found["whole"] + part) > MAX_DIGITS:
            raise QuantityError(f"expected at most {MAX_DIGITS} digits, got {text[:20]}...")
        digits = int(found["whole"] + part or "0")
        scale = 10 ** len(part)
        if found["binary"]:
            family = SuffixFamily.BINARY
            digits <<= BINARY_EXPONENTS[found["binary"]]
        elif found["exponent"]:
            family = SuffixFamily.EXPONENT
            if len(found["exponent"].lstrip("+-0")) > MAX_EXPONENT_DIGITS:
                raise QuantityError(f"expected an exponent of at most 3 digits, got {text!r}")
            digits, scale = _shifted(digits, scale, int(found["exponent"]))
        else:
            family = SuffixFamily.DECIMAL
            digits, scale = _shifted(digits, scale, DECIMAL_EXPONENTS[found["decimal"] or ""])
        nanos = -(-digits * NANO // scale)
        if family is SuffixFamily.BINARY:
            nanos = min(nanos, MAX_NANOS)
        return cls(-nanos if found["sign"] == "-" else nanos, family)

    @classmethod
    def of(cls, units: int, family: SuffixFamily = SuffixFamily.DECIMAL) -> Self:
        """Whole units."""
        return cls(units * NANO, family)

    @property
    def is_whole(self) -> bool:
        return self.nanos % NANO == 0

    @property
    def units_rounded_up(self) -> int:
        """Whole units, rounded away from zero, as `Quantity.Value()` does."""
        whole = -(-abs(self.nanos) // NANO)
        return -whole if self.nanos < 0 else whole

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self.family)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self.family)

    def __str__(self) -> str:
        """Print the canonical form: no fraction, the largest suffix that fits."""
        if self.nanos == 0:
            return "0"
        is_large = abs(self.nanos) >= KIBI * NANO
        if self.family is SuffixFamily.BINARY and is_large and self.is_whole:
            return _in_binary(self.nanos // NANO)
        return _in_decimal(self.nanos, self.family)


def _may_lack_digits(found: re.Match[str]) -> bool:
    """Tell whether a sign, point or suffix alone is read as 0.

    Upstream does wherever it need not compute with many digits, which it thinks it has to
    for the largest binary suffixes and exponents below -9.
    """
    if found["binary"]:
        return found["binary"] not in LARGEST_BINARY
    if found["exponent"]:
        digits = found["exponent"].lstrip("+-0")
        return not found["exponent"].startswith("-") or len(digits) <= 1
    return bool(found[0])


def _shifted(digits: int, scale: int, exponent: int) -> tuple[int, int]:
    """Multiply `digits / scale` by a power of ten without leaving whole numbers."""
    if exponent < 0:
        return digits, scale * 10**-exponent
    return digits * 10**exponent, scale


def _in_binary(units: int) -> str:
    exponent = 0
    while units % KIBI == 0 and exponent + 10 in BINARY_SUFFIXES:
        units //= KIBI
        exponent += 10
    return f"{units}{BINARY_SUFFIXES[exponent]}"


def _in_decimal(nanos: int, family: SuffixFamily) -> str:
    number, exponent = nanos, -9
    while number % 1000 == 0 and exponent < MAX_SUFFIX_EXPONENT:
        number //= 1000
        exponent += 3
    if family is SuffixFamily.EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{DECIMAL_SUFFIXES[exponent]}"
