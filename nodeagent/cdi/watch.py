"""Notices at once that somebody removed a claim's file, for the price of one `stat` a look.

A directory's own time stamp changes whenever an entry comes, goes or is renamed, and so does the
directory's identity when it is made anew, as a cleaned tmpfs is. What changes inside a file is
not seen here; that is found by the slow comparison of contents (node-agent.md 3.7).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from nodeagent.cdi.store import CdiStore


@dataclass(slots=True)
class MissingFiles:
    """Looks for claims without their file, whenever the directory has changed. For one thread."""

    store: CdiStore
    _seen: tuple[int, int, int] | None = field(default=None, init=False)

    def look(self, claim_uids: Iterable[str]) -> tuple[str, ...]:
        """Return which of the claims lost their file, or none if the directory is as it was."""
        mark = self._mark()
        if mark is not None and mark == self._seen:
            return ()
        missing = tuple(uid for uid in claim_uids if not self.store.path_of(uid).is_file())
        # A file that cannot be written now is looked for again at the next change.
        self._seen = mark
        return missing

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            found = self.store.directory.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns
