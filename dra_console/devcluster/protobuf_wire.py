"""Protobuf's wire format, read by a table of fields instead of generated code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.model import Json, JsonObject

VARINT: Final = 0
FIXED_64: Final = 1
LENGTH_DELIMITED: Final = 2
FIXED_32: Final = 5
MORE_FOLLOWS: Final = 0x80
FIXED_BYTES: Final[Mapping[int, int]] = MappingProxyType({FIXED_64: 8, FIXED_32: 4})


class Scalar(Enum):
    """Types of fields that hold no message."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    QUANTITY = auto()
    """A message on the wire, a text in JSON."""


@dataclass(frozen=True, slots=True)
class Many:
    """A repeated field."""

    of: "Message | Scalar"


@dataclass(frozen=True, slots=True)
class Map:
    """A map from texts; an entry is a message with key 1 and value 2."""

    of: "Message | Scalar"


Type: TypeAlias = "Message | Scalar | Many | Map"


@dataclass(frozen=True, slots=True)
class Message:
    """A message: JSON name and type by field number. Fields that are not named are skipped."""

    fields: Mapping[int, tuple[str, Type]]


QUANTITY_MESSAGE: Final = Message({1: ("text", Scalar.TEXT)})


class WireError(Exception):
    """The bytes are not a message of that shape."""


def read_message(data: bytes, message: Message) -> JsonObject:
    """Read a message as the JSON object that it stands for.

    Raises:
        WireError: it is truncated, or a field is of another type than the table says.

    """
    obj: JsonObject = {}
    for number, value in read_fields(data):
        if number not in message.fields:
            continue
        name, kind = message.fields[number]
        if isinstance(kind, Many):
            known = obj.setdefault(name, [])
            if isinstance(known, list):
                known.append(_value(value, kind.of))
        elif isinstance(kind, Map):
            entry = read_message(_bytes(value), _entry_of(kind))
            known = obj.setdefault(name, {})
            if isinstance(known, dict):
                known[str(entry.get("key", ""))] = entry.get("value", "")
        elif value != b"" or isinstance(kind, Message):
            # An empty text is how Go writes one that is absent.
            obj[name] = _value(value, kind)
    return obj


def _entry_of(kind: Map) -> Message:
    return Message({1: ("key", Scalar.TEXT), 2: ("value", kind.of)})


def _value(value: int | bytes, kind: Message | Scalar) -> Json:
    if kind is Scalar.QUANTITY:
        return read_message(_bytes(value), QUANTITY_MESSAGE).get("text", "")
    if isinstance(kind, Message):
        return read_message(_bytes(value), kind)
    if kind is Scalar.TEXT:
        return _text(_bytes(value))
    if not isinstance(value, int):
        raise WireError("expected a number")
    return bool(value) if kind is Scalar.FLAG else value


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WireError("expected UTF-8") from error


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError("expected bytes")
    return value


def read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field.

    Raises:
        WireError: the data is truncated.

    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == LENGTH_DELIMITED:
            length, position = _varint(data, position)
        elif wire_type in FIXED_BYTES:
            length = FIXED_BYTES[wire_type]
        else:
            raise WireError(f"unknown wire type {wire_type}")
        if position + length > len(data):
            raise WireError("truncated")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise WireError("truncated")
        byte = data[position]
        position += 1
        value |= (byte & ~MORE_FOLLOWS) << shift
        shift += 7
        if not byte & MORE_FOLLOWS:
            return value, position
