"""What waits to be sent to one browser.

A browser gets whole latest values, so a newer message on the same subject replaces the
one that waits, in its place: a slow browser loses old samples, never the connection, and
every topic gets its turn. The box is bounded: beyond that the oldest message is dropped.
"""

import asyncio


class DropOldestOutbox:
    """Messages by subject, at most one for each, oldest first."""

    def __init__(self, *, limit: int) -> None:
        """Start empty, with room for `limit` messages."""
        self._limit = limit
        self._text_by_subject: dict[str, str] = {}
        self._filled = asyncio.Event()

    def put(self, subject: str, text: str) -> None:
        """Leave a message; never waits."""
        self._text_by_subject[subject] = text
        if len(self._text_by_subject) > self._limit:
            del self._text_by_subject[next(iter(self._text_by_subject))]
        self._filled.set()

    async def take(self) -> str:
        """Wait for a message and take the one whose subject has waited longest."""
        await self._filled.wait()
        text = self._text_by_subject.pop(next(iter(self._text_by_subject)))
        if not self._text_by_subject:
            self._filled.clear()
        return text
