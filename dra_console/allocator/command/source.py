"""Files of a dump as text: what a person may hand in, and one clear line for the rest.

PowerShell redirects in UTF-16 and editors on Windows add a byte order mark, so both are
read. Sizes are limited, since a whole dump has to fit into memory several times over.
"""

import codecs
import sys
from pathlib import Path
from typing import BinaryIO, Final

from dra_console.allocator.errors import AllocatorError

STANDARD_INPUT: Final = "-"
BYTES_LIMIT: Final = 512 * 1024 * 1024
"""About 30,000 nodes with eight GPUs each."""

MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32's mark begins with UTF-16's, so it comes first."""

COMPRESSED: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


class SourceError(AllocatorError):
    """A file cannot be used; the text begins with its name."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")


def read_text(source: str) -> str:
    """Read a file, or standard input for `-`.

    Raises:
        SourceError: it cannot be opened, is too long, is empty, or is no text.

    """
    if source == STANDARD_INPUT:
        return _text(title_of(source), _limited(sys.stdin.buffer, source))
    try:
        with Path(source).open("rb") as file:
            return _text(source, _limited(file, source))
    except OSError as error:
        raise SourceError(source, error.strerror or str(error)) from error
    except ValueError as error:  # a name with a null character
        raise SourceError(ascii(source), str(error)) from error


def title_of(source: str) -> str:
    """Name a source in messages."""
    return "standard input" if source == STANDARD_INPUT else source


def _limited(file: BinaryIO, source: str) -> bytes:
    content = file.read(BYTES_LIMIT + 1)
    if len(content) > BYTES_LIMIT:
        raise SourceError(
            title_of(source),
            f"longer than {BYTES_LIMIT // 1024**2} MiB; leave out what is not needed, such as "
            "pods without claims, or ask for JSON without managed fields",
        )
    return content


def _text(title: str, content: bytes) -> str:
    if content.startswith(COMPRESSED):
        raise SourceError(title, "a compressed file; unpack it first")
    mark, encoding = next(
        ((mark, encoding) for mark, encoding in MARKS if content.startswith(mark)), (b"", "utf-8")
    )
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        reason = f"not a text file: byte {error.start + len(mark)} is not {encoding.upper()}"
        raise SourceError(title, reason) from error
    if "\0" in text:
        raise SourceError(title, "not a text file: it holds null characters")
    if not text.strip():
        raise SourceError(title, "an empty file; expected what kubectl get -o yaml prints")
    return text
