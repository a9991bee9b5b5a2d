"""Protobuf's wire format, as far as the engine's expression trees need it.

The engine hands out `cel.expr.CheckedExpr`
(https://github.com/google/cel-spec/tree/master/proto/cel/expr). Reading them field by field
needs no generated classes.
"""

import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
MORE: Final = 0x80
"""The bit of a byte that says that more follow."""
SIGN_BIT: Final = 1 << 63
NUMBER_KEY: Final = b"\x08"
"""Field 1 of an entry of a map, a number."""
MESSAGE_VALUE: Final = b"\x12"
"""Field 2, a message."""

Value: TypeAlias = int | bytes
Fields: TypeAlias = dict[int, list[Value]]
"""Field number to its values in order; fixed-width numbers are their raw bytes."""


def fields(message: bytes) -> Fields:
    """Split a message into its fields.

    Raises:
        ValueError: this is not a message.

    """
    found: Fields = {}
    at, end = 0, len(message)
    while at < end:
        tag = message[at]
        at += 1
        if tag & MORE:
            tag, at = _varint(message, at - 1)
        kind = tag & 7
        value: Value
        if kind in {VARINT, BYTES}:
            if at >= end:
                raise ValueError("the message ends within a field")
            value = message[at]
            at += 1
            if value & MORE:
                value, at = _varint(message, at - 1)
            if kind == BYTES:
                at += value
                value = message[at - value : at]
        elif kind in {FIXED64, FIXED32}:
            size = 8 if kind == FIXED64 else 4
            value, at = message[at : at + size], at + size
        else:
            raise ValueError(f"unknown wire type {kind}")
        held = found.get(tag >> 3)
        if held is None:
            found[tag >> 3] = [value]
        else:
            held.append(value)
    return found


def map_entry(message_: bytes) -> tuple[int, bytes]:
    """Split an entry of a map from numbers to messages; most keys and lengths take one byte."""
    if (
        message_[:1] == NUMBER_KEY
        and message_[2:3] == MESSAGE_VALUE
        and message_[1] < MORE
        and len(message_) == message_[3] + 4 < MORE
    ):
        return message_[1], message_[4:]
    found = fields(message_)
    return whole(found, 1), message(found, 2)


def messages(found: Fields, number: int) -> Iterator[bytes]:
    """Walk the embedded messages, texts or bytes of a field."""
    for value in found.get(number, ()):
        if isinstance(value, bytes):
            yield value


def message(found: Fields, number: int) -> bytes:
    """Read an embedded message or bytes; empty if absent."""
    last = b""
    for value in messages(found, number):
        last = value
    return last


def text(found: Fields, number: int) -> str:
    """Read a text; empty if absent."""
    return message(found, number).decode()


def whole(found: Fields, number: int) -> int:
    """Read a signed number; 0 if absent."""
    unsigned = natural(found, number)
    return unsigned - (1 << 64) if unsigned & SIGN_BIT else unsigned


def natural(found: Fields, number: int) -> int:
    """Read an unsigned number; 0 if absent."""
    last = found.get(number, [0])[-1]
    return last if isinstance(last, int) else 0


def double(found: Fields, number: int) -> float:
    """Read a floating point number; 0 if absent."""
    raw = message(found, number)
    return struct.unpack("<d", raw)[0] if raw else 0.0


def packed(found: Fields, number: int) -> list[int]:
    """Read a repeated number, packed or not."""
    numbers = []
    for value in found.get(number, ()):
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            entry, at = _varint(value, at)
            numbers.append(entry)
    return numbers


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("the message ends within a number")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & MORE:
            return value, at
