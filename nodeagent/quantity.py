"""Kubernetes quantities: written for people, compared by value.

The API server keeps a quantity's value, not its spelling, so `1Gi` may come back as
`1073741824`.
"""

import re
from fractions import Fraction
from typing import Final

SUFFIXES: Final = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))"
    r"(?:[eE](?P<exponent>[+-]?\d{1,3})|(?P<suffix>[numkMGTPE]|[KMGTPE]i))?",
    re.ASCII,
)
BINARY_SUFFIXES: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


def value_of(quantity: str) -> Fraction | None:
    """Return a quantity's value; `None` if it is not one."""
    found = QUANTITY.fullmatch(quantity)
    if found is None:
        return None
    number = Fraction(found["number"])
    if found["exponent"] is not None:
        return number * Fraction(10) ** int(found["exponent"])
    return number * SUFFIXES[found["suffix"] or ""]


def quantity_of_bytes(size_bytes: int) -> str:
    """Spell a size exactly, with the largest binary suffix that leaves no rest."""
    for suffix in BINARY_SUFFIXES:
        unit = int(SUFFIXES[suffix])
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{suffix}"
    return str(size_bytes)
