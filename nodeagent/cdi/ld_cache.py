"""Which directories a system's `ldconfig` found a library in (`/etc/ld.so.cache`).

Distributions put the driver's libraries into directories of their own and tell only ldconfig.
The file is glibc's (`sysdeps/generic/dl-cache.h`): a header with a magic word, the number of
entries and the length of the strings; then 24 bytes an entry, of which the second and third
number say where its name and its path begin, counted from the header.
"""

import struct
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

MAGIC: Final = b"glibc-ld.so.cache1.1"
HEADER: Final = struct.Struct("<20sII20x")
ENTRY: Final = struct.Struct("<iIIIQ")
SIZE_LIMIT_BYTES: Final = 16 << 20


def directories_of(library: str, cache: Path) -> tuple[str, ...]:
    """Return the directories that hold a library (`libcuda.so.1`), in the loader's order.

    A cache that is missing, or of a format before glibc 2.2, tells nothing.
    """
    try:
        with cache.open("rb") as file:
            content = file.read(SIZE_LIMIT_BYTES)
    except OSError:
        return ()
    wanted = library.encode()
    found = (path for name, path in _entries(content) if name == wanted)
    return tuple(
        dict.fromkeys(
            str(PurePosixPath(path.decode(errors="surrogateescape")).parent) for path in found
        )
    )


def _entries(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    # An older format may stand before this one in the same file.
    start = content.find(MAGIC)
    if start < 0 or len(content) < start + HEADER.size:
        return
    _, count, _ = HEADER.unpack_from(content, start)
    first = start + HEADER.size
    for offset in range(first, first + count * ENTRY.size, ENTRY.size):
        if offset + ENTRY.size > len(content):
            return
        _, name, path, _, _ = ENTRY.unpack_from(content, offset)
        yield _string(content, start + name), _string(content, start + path)


def _string(content: bytes, start: int) -> bytes:
    end = content.find(b"\0", start)
    return content[start : end if end >= 0 else len(content)]
