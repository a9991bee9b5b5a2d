"""One device of an explanation with its verdict, as a reader may see it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dra_console.allocator.explanation.unfolding import HIDDEN_HOLDER, Holders, device_rows, key_of
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Look

VERDICTS: Final[Mapping[str, tuple[str, Look, str]]] = {
    "free": ("free", Look.FREE, "check"),
    "taken": ("taken", Look.HELD, ""),
    "tainted": ("tainted", Look.SICK, "alert-triangle"),
    "class-mismatch": ("other class", Look.UNAVAILABLE, "x"),
    "selector-mismatch": ("no match", Look.UNAVAILABLE, "x"),
    "selector-error": ("error", Look.WARN, "alert-triangle"),
    "constraint": ("constraint", Look.WARN, "x"),
    "counters": ("no room", Look.UNAVAILABLE, "ban"),
    "node-filter": ("node", Look.UNAVAILABLE, "ban"),
}
"""Each verdict's word, look and sign."""


@dataclass(frozen=True, slots=True)
class VerdictTile:
    """One device with its verdict."""

    key: str
    device: str
    look: Look
    sign: str
    """Name of an icon; empty for none."""

    headline: str
    word: str
    evidence: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """For whom tiles are drawn, and what is known of all of them."""

    reader: Reader
    selected: str
    """Key of the device to show in full; empty for none."""

    holders: Holders

    def tiles(self, group: Mapping[str, Any], name: str) -> Iterator[VerdictTile]:
        """Draw the devices of one node of a group."""
        return map(self.tile, device_rows(dict(group), name, holders=self.holders))

    def tile(self, row: Mapping[str, Any]) -> VerdictTile:
        """Draw a device."""
        word, look, sign = VERDICTS[row["verdict"]]
        key = key_of(dict(row))
        holder = row["holder"]
        headline = word
        if holder is not None:
            headline = holder["namespace"]
            if self.reader.owns(holder["namespace"]):
                look = Look.MINE
        elif row["evidence"] == HIDDEN_HOLDER:
            headline = "other team"
        return VerdictTile(
            key=key,
            device=row["device"],
            look=look,
            sign=sign,
            headline=headline,
            word=word,
            evidence=row["evidence"],
            is_selected=key == self.selected,
        )
