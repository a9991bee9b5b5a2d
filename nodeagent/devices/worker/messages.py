"""What goes through the pipe: frames of four length bytes and one message as MessagePack."""

import socket
import struct
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from nodeagent.devices.events import DriverEvent

LENGTH: Final = struct.Struct(">I")
LONGEST_BYTES: Final = 16 << 20
"""More than any node can have to tell; a longer frame is no frame."""


NOTHING: Final = msgspec.Raw(msgspec.msgpack.encode(None))


class Request(msgspec.Struct, frozen=True):
    """One call for the worker."""

    number: int
    call: str
    arguments: tuple[Any, ...]
    expires_at: float
    """On `time.monotonic`, which processes of one host share. Later it must not begin."""


class Answer(msgspec.Struct, frozen=True, tag=True):
    """The end of one call: its result, or the class and text of its error."""

    number: int
    result: msgspec.Raw = NOTHING
    error: tuple[str, str] | None = None


class Progress(msgspec.Struct, frozen=True, tag=True):
    """The worker is slow, not stuck; the first one says that it has begun."""


class Told(msgspec.Struct, frozen=True, tag=True):
    """The driver told of an event."""

    event: DriverEvent


class Noted(msgspec.Struct, frozen=True, tag=True):
    """Something for the agent's log."""

    level: str
    text: str
    fields: dict[str, Any]


Message: TypeAlias = Answer | Progress | Told | Noted

encode: Final = msgspec.msgpack.Encoder(enc_hook=str).encode
decode_request: Final = msgspec.msgpack.Decoder(Request).decode
decode_message: Final = msgspec.msgpack.Decoder(Message).decode


class FrameError(Exception):
    """The other side wrote no frame."""


@dataclass(slots=True)
class Pipe:
    """One end of the connection; one thread reads, and writers take turns by a lock of theirs."""

    connection: socket.socket

    def write(self, message: Message | Request) -> None:
        """Send one message.

        Raises:
            OSError: the other side is gone, or (with a time-out set) takes nothing.

        """
        content = encode(message)
        self.connection.sendall(LENGTH.pack(len(content)) + content)

    def read(self) -> bytes | None:
        """Return the next message, undecoded; `None` when the other side has ended.

        Raises:
            FrameError: what came was no frame.

        """
        head = self._take(LENGTH.size)
        if head is None:
            return None
        (length,) = LENGTH.unpack(head)
        if length > LONGEST_BYTES:
            raise FrameError(f"a frame of {length} bytes")
        return self._take(length)

    def _take(self, length: int) -> bytes | None:
        taken = bytearray()
        while len(taken) < length:
            try:
                piece = self.connection.recv(length - len(taken))
            except ConnectionError:
                return None
            if not piece:
                return None
            taken += piece
        return bytes(taken)
