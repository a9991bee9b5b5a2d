"""Give memory that is free back to the operating system, where the C library would keep it.

The list of a fleet passes some hundred megabytes through the C library's heap: pages, texts,
pages of the database. Freed, nearly all of it stays with the process, since what lives on is
strewn among it, and comes on top of what the next job takes. glibc gives such pages back only
when it is asked to (`malloc_trim(3)`); other libraries are left alone.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast


def _found() -> Callable[[int], int] | None:
    try:
        return cast("Callable[[int], int]", ctypes.CDLL(None).malloc_trim)
    except (AttributeError, OSError):
        return None


_trim = _found()


@contextmanager
def returned_memory() -> Iterator[None]:
    """Give back what is free after the block, whichever way it ends."""
    try:
        yield
    finally:
        if _trim is not None:
            _trim(0)
