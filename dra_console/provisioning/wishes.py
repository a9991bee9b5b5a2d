"""Selectors as the request form knows them: model, least memory, and one of the user's own.

The form writes the first two by itself and recognises only what is spelled exactly so; any
other expression is the user's own. Texts are quoted by CEL's rules, never pasted together.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import Json

_DOMAIN: Final = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_TEXT: Final = r'(?:[^"\\\n]|\\["\\])*'
_PRODUCT: Final = re.compile(
    rf'device\.attributes\["(?P<domain>{_DOMAIN})"\]\.productName == "(?P<product>{_TEXT})"'
    rf'(?: && device\.attributes\["(?P=domain)"\]\.\?profile'
    rf'\.orValue\(""\) == "(?P<profile>{_TEXT})")?'
)
_MEMORY: Final = re.compile(
    rf'device\.capacity\["(?P<domain>{_DOMAIN})"\]\.memory'
    r'\.compareTo\(quantity\("(?P<amount>[0-9A-Za-z.+-]{1,32})"\)\) >= 0'
)


@dataclass(frozen=True, slots=True)
class ProductWish:
    """Only devices of one model, or only partitions of one size of it."""

    domain: str
    """Whose attribute `productName` it is: the driver's name."""

    product_name: str
    profile: str = ""
    """Of a partition, as in `1g.5gb`; empty asks nothing about it."""

    def expression(self) -> str:
        """Spell it as CEL."""
        own = f'device.attributes["{self.domain}"]'
        product = f"{own}.productName == {_quoted(self.product_name)}"
        if not self.profile:
            return product
        # Whole devices publish no profile, and reading what is absent would be an error.
        return f'{product} && {own}.?profile.orValue("") == {_quoted(self.profile)}'


@dataclass(frozen=True, slots=True)
class MemoryWish:
    """Only devices with at least so much memory."""

    domain: str
    least: str
    """A Kubernetes quantity, as in `80Gi`."""

    def expression(self) -> str:
        """Spell it as CEL."""
        return f'device.capacity["{self.domain}"].memory.compareTo(quantity("{self.least}")) >= 0'


def read_product_wish(expression: str) -> ProductWish | None:
    """Recognise what `ProductWish.expression` writes."""
    match = _PRODUCT.fullmatch(expression)
    if match is None:
        return None
    return ProductWish(
        match["domain"], _unquoted(match["product"]), _unquoted(match["profile"] or "")
    )


def read_memory_wish(expression: str) -> MemoryWish | None:
    """Recognise what `MemoryWish.expression` writes."""
    match = _MEMORY.fullmatch(expression)
    return MemoryWish(match["domain"], match["amount"]) if match else None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


@dataclass(frozen=True, slots=True)
class Selectors:
    """What the selectors of one request mean to the form, by their place in the list."""

    product: tuple[int, ProductWish] | None = None
    memory: tuple[int, MemoryWish] | None = None
    extra: tuple[int, str] | None = None
    """The first expression that is neither."""

    @classmethod
    def read(cls, exactly: Fields) -> Self:
        """Read a request's `selectors`.

        Raises:
            DecodeError: one is of the wrong kind.

        """
        product = memory = extra = None
        for position, expression in _expressions(exactly):
            if product is None and (model := read_product_wish(expression)):
                product = (position, model)
            elif memory is None and (least := read_memory_wish(expression)):
                memory = (position, least)
            elif extra is None:
                extra = (position, expression)
        return cls(product, memory, extra)

    @property
    def positions(self) -> frozenset[int]:
        """Places in the list that the form shows."""
        return frozenset(found[0] for found in (self.product, self.memory, self.extra) if found)

    def rewritten(
        self,
        entries: list[Json],
        *,
        product: ProductWish | None,
        memory: MemoryWish | None,
        extra: str,
    ) -> list[Json]:
        """Change in `entries` what differs from what was read, in its place or at the end."""
        by_position: dict[int, Json] = dict(enumerate(entries))
        for rank, (found, before, after) in enumerate(
            (
                (self.product, self.product and self.product[1], product),
                (self.memory, self.memory and self.memory[1], memory),
                (self.extra, self.extra and self.extra[1], extra or None),
            )
        ):
            position = found[0] if found else len(entries) + rank
            if after is None:
                by_position.pop(position, None)
            elif after != before:
                expression = after if isinstance(after, str) else after.expression()
                by_position[position] = {"cel": {"expression": expression}}
        return [by_position[position] for position in sorted(by_position)]


def _expressions(exactly: Fields) -> Iterator[tuple[int, str]]:
    """Give the selectors that hold a CEL expression and nothing else."""
    for position, entry in enumerate(exactly.children("selectors")):
        cel = entry.child("cel")
        if cel is None or entry.raw.keys() != {"cel"} or cel.raw.keys() != {"expression"}:
            continue
        if expression := cel.text("expression"):
            yield position, expression
