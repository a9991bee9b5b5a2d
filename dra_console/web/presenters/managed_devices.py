"""Rules that mark devices, and who holds what they mark."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from dra_console.scheduling.coexistence.managed_devices import (
    Concerned,
    Holding,
    ManagedRule,
    visible,
)
from dra_console.web.presenters.reader import Reader
from dra_console.web.wording import counted

HOLDINGS_SHOWN: Final = 50


@dataclass(frozen=True, slots=True)
class HoldingLine:
    """A claim that holds a marked device."""

    claim: str
    address: str
    device: str


@dataclass(frozen=True, slots=True)
class ConcernedShown:
    """Whom a selector concerns, as far as the reader may know."""

    devices: int
    held: int
    holdings: tuple[HoldingLine, ...]
    rest: str
    """What is not listed, in words; empty: nothing."""

    @property
    def words(self) -> str:
        """Say it in a line."""
        return f"{counted(self.devices, 'device')}, {self.held} held"


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule."""

    name: str
    selector: str
    effect: str
    resource_version: str
    concerned: ConcernedShown


def rule_lines(rules: Iterable[ManagedRule], *, reader: Reader) -> tuple[RuleLine, ...]:
    """Describe rules, in the order given."""
    return tuple(
        RuleLine(
            name=rule.name,
            selector=str(rule.selector),
            effect=rule.effect,
            resource_version=rule.resource_version,
            concerned=concerned_of(rule.concerned, reader=reader),
        )
        for rule in rules
    )


def concerned_of(concerned: Concerned, *, reader: Reader) -> ConcernedShown:
    """Name the holders that the reader may see, and count the others."""
    seen, hidden = visible(concerned.holdings, namespaces=reader.namespaces)
    more = len(seen) - HOLDINGS_SHOWN
    rest = [
        f"{more} more" if more > 0 else "",
        f"{counted(hidden, 'device')} held by claims of other namespaces" if hidden else "",
    ]
    return ConcernedShown(
        devices=concerned.devices,
        held=len({one.device for one in concerned.holdings}),
        holdings=tuple(_line(one) for one in seen[:HOLDINGS_SHOWN]),
        rest=" and ".join(filter(None, rest)),
    )


def _line(one: Holding) -> HoldingLine:
    return HoldingLine(
        claim=f"{one.namespace}/{one.claim}",
        address=reverse("web:claim", args=[one.namespace, one.claim]),
        device=one.device,
    )
