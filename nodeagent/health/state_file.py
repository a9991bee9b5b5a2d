"""Faults on disk, so that an agent that starts again does not bless a sick GPU.

The file holds for one boot: a reboot resets the hardware. One that cannot be read is no reason
not to start; then the vital signs have to tell (node-agent.md 6.5).
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import structlog

from nodeagent.durable import write_durably
from nodeagent.fields import FieldError, Fields, Json, JsonObject
from nodeagent.health.findings import Finding, Grade
from nodeagent.health.incidents import Incident, Memory, Place, SeenXid

log = structlog.get_logger()

FORMAT: Final = 1
FILE_MODE: Final = 0o600


class Kept(Protocol):
    """Where a memory outlives the process, or does not."""

    def read(self) -> Memory:
        """Return what was remembered since this boot; nothing where that is not known."""
        ...

    def write(self, memory: Memory) -> None:
        """Keep what is remembered."""
        ...


class Unkept:
    """Nowhere: for an agent that writes nothing on its node."""

    def read(self) -> Memory:
        return Memory()

    def write(self, memory: Memory) -> None:
        del memory


@dataclass(slots=True)
class StateFile:
    """The memory of one node, in a file."""

    path: Path
    boot_id: str
    _written: Memory | None = field(default=None, init=False)

    def read(self) -> Memory:
        """Return what was remembered since this boot; nothing where that is not known."""
        try:
            fields = Fields.of(json.loads(self.path.read_bytes()), "health")
            if fields.text("bootId") != self.boot_id:
                log.info("faults of an earlier boot forgotten")
                return Memory()
            memory = _decoded(fields)
        except FileNotFoundError:
            return Memory()
        except (OSError, ValueError) as error:
            log.warning("remembered faults not readable", file=str(self.path), reason=str(error))
            return Memory()
        self._written = memory
        return memory

    def write(self, memory: Memory) -> None:
        """Keep what is remembered, if it is something else than what is there."""
        if memory == self._written or (self._written is None and memory == Memory()):
            return
        content = json.dumps(_encoded(memory, self.boot_id), separators=(",", ":")).encode()
        try:
            write_durably(self.path, content, mode=FILE_MODE)
        except OSError as error:
            # Tried again at the next look; the taints are published all the same.
            log.warning("faults not written down", file=str(self.path), reason=str(error))
            return
        self._written = memory


def _encoded(memory: Memory, boot_id: str) -> JsonObject:
    incidents: list[Json] = [
        {
            "gpu": one.gpu_uuid,
            "key": one.finding.key,
            "value": one.finding.value,
            "grade": one.finding.grade.name,
            "text": one.finding.text,
            "at": one.at.isoformat(),
            "place": _spelled(one.place),
            "hasSeenReset": one.has_seen_reset,
        }
        for one in memory.incidents
    ]
    xids: JsonObject = {
        gpu: [
            {"xid": one.xid, "at": one.at.isoformat(), "place": _spelled(one.place)} for one in seen
        ]
        for gpu, seen in memory.xids.items()
    }
    return {"format": FORMAT, "bootId": boot_id, "incidents": incidents, "xids": xids}


def _decoded(fields: Fields) -> Memory:
    if fields.optional_integer("format") != FORMAT:
        raise FieldError(f"health.format: expected {FORMAT}")
    seen = fields.object("xids")
    return Memory(
        tuple(_incident(one) for one in fields.objects("incidents")),
        MappingProxyType({gpu: _seen(seen, gpu) for gpu in seen.value}),
    )


def _incident(fields: Fields) -> Incident:
    grade = fields.text("grade")
    if grade not in Grade.__members__:
        raise FieldError(f"{fields.path}.grade: {grade!r} is not known")
    return Incident(
        gpu_uuid=fields.text("gpu"),
        finding=Finding(
            fields.text("key"), fields.text("value"), Grade[grade], fields.text("text")
        ),
        at=datetime.fromisoformat(fields.text("at")),
        place=_place(fields),
        has_seen_reset=fields.flag("hasSeenReset"),
    )


def _seen(fields: Fields, gpu: str) -> tuple[SeenXid, ...]:
    return tuple(
        SeenXid(
            xid=one.optional_integer("xid") or 0,
            at=datetime.fromisoformat(one.text("at")),
            place=_place(one),
        )
        for one in fields.objects(gpu)
    )


def _spelled(place: Place | None) -> Json:
    return None if place is None else {"first": place[0], "end": place[1]}


def _place(fields: Fields) -> Place | None:
    place = fields.optional_object("place")
    if place is None:
        return None
    first, end = place.optional_integer("first"), place.optional_integer("end")
    if first is None or end is None:
        raise FieldError(f"{place.path}: expected first and end")
    return first, end
