"""The checkpoint's format: one JSON object with a checksum over what is read, not over our types.

Upstream took its checksum over re-marshalled structures, and each release that added a default
field broke the files of the last one. Here the checksum covers the canonical form (sorted keys,
no blanks) of the object as it stands in the file, and members that this version does not know are
kept and written back (node-agent.md 2.6).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from nodeagent import __version__
from nodeagent.claims.entry import Entry, State
from nodeagent.claims.entry_format import entry_from_json, entry_salvaged, entry_to_json
from nodeagent.claims.errors import CorruptCheckpointError
from nodeagent.fields import FieldError, Fields, Json, JsonObject

FORMAT_VERSION: Final = 2
"""1 knew neither partitions that were made for a claim nor sharing."""

OLDEST_READ: Final = FORMAT_VERSION - 1
TOMBSTONE_AGE: Final = timedelta(minutes=10)

_MEMBERS: Final = frozenset({"formatVersion", "bootID", "writer", "claims", "checksum"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Everything that the agent must not forget, as of one write."""

    boot_id: str
    """The boot under which the entries were prepared; empty in files that had none."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """By claim UID."""

    unreadable: Mapping[str, Json] = field(default_factory=dict)
    """Entries that could not be decoded, by UID, as they stand in the file."""

    is_read_only: bool = False
    """A newer agent wrote the file: what is completed is answered, nothing is changed."""

    unknown: Mapping[str, Json] = field(default_factory=dict)

    @property
    def speaking(self) -> Mapping[str, Entry]:
        """All entries, with what can be told of those set aside: they hold devices, too."""
        salvaged = {uid: entry_salvaged(uid, raw) for uid, raw in self.unreadable.items()}
        return {**salvaged, **self.entries}

    def with_entry(self, entry: Entry) -> "Checkpoint":
        """Return a checkpoint with this entry in place of any of the same UID."""
        unreadable = {uid: raw for uid, raw in self.unreadable.items() if uid != entry.uid}
        return replace(
            self,
            entries=MappingProxyType({**self.entries, entry.uid: entry}),
            unreadable=MappingProxyType(unreadable),
        )

    def without(self, claim_uid: str) -> "Checkpoint":
        """Return a checkpoint that knows nothing of a claim."""
        entries = {uid: entry for uid, entry in self.entries.items() if uid != claim_uid}
        unreadable = {uid: raw for uid, raw in self.unreadable.items() if uid != claim_uid}
        return replace(
            self, entries=MappingProxyType(entries), unreadable=MappingProxyType(unreadable)
        )

    def without_old_tombstones(self, now: datetime) -> "Checkpoint":
        """Return a checkpoint without the tombstones that have served their time."""
        kept = {
            uid: entry
            for uid, entry in self.entries.items()
            if entry.state is not State.UNPREPARED or now - entry.changed_at < TOMBSTONE_AGE
        }
        return replace(self, entries=MappingProxyType(kept))


def encode(checkpoint: Checkpoint) -> bytes:
    """Write a checkpoint down, checksum included."""
    claims: JsonObject = {
        **checkpoint.unreadable,
        **{uid: entry_to_json(entry) for uid, entry in checkpoint.entries.items()},
    }
    written: JsonObject = {
        **checkpoint.unknown,
        "formatVersion": FORMAT_VERSION,
        "bootID": checkpoint.boot_id,
        "writer": __version__,
        "claims": claims,
    }
    return json.dumps({**written, "checksum": _checksum(written)}, indent=1).encode() + b"\n"


def decode(content: bytes) -> Checkpoint:
    """Read a checkpoint.

    One broken entry in a file whose checksum holds does not spoil the others: it is set aside.

    Raises:
        CorruptCheckpointError: the file as a whole cannot be trusted.

    """
    try:
        fields = Fields.of(json.loads(content), "")
        written = {name: value for name, value in fields.value.items() if name != "checksum"}
        if fields.text("checksum") != _checksum(written):
            raise CorruptCheckpointError("the checksum does not fit the content")
        version = fields.optional_integer("formatVersion")
        if version is None:
            raise CorruptCheckpointError("formatVersion: expected a whole number, got nothing")
        if version < OLDEST_READ:
            raise CorruptCheckpointError(f"formatVersion: {version} is no longer read")
        claims = fields.object("claims")
        boot_id = fields.optional_text("bootID") or ""
    except (ValueError, RecursionError) as error:
        raise CorruptCheckpointError(str(error)) from error
    entries: dict[str, Entry] = {}
    unreadable: dict[str, Json] = {}
    for uid in claims.value:
        try:
            entries[uid] = entry_from_json(claims.object(uid))
        except FieldError:
            unreadable[uid] = claims.value[uid]
    unknown = {name: value for name, value in fields.value.items() if name not in _MEMBERS}
    return Checkpoint(
        boot_id=boot_id,
        entries=MappingProxyType(entries),
        unreadable=MappingProxyType(unreadable),
        is_read_only=version > FORMAT_VERSION,
        unknown=MappingProxyType(unknown),
    )


def _checksum(written: JsonObject) -> str:
    canonical = json.dumps(written, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
