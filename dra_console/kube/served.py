"""In which version a kind is spoken of, with one API server.

The console thinks in v1 of resource.k8s.io. A server may have that, or older versions only,
and this changes while we run: with an upgrade, with a downgrade, with a flag. So discovery
is asked before the first request, and again

- when a request finds nothing at its path: the version was switched off, step down at once;
- when the last look is `FRESH_SECONDS` old: a newer version may be there, step up;
- when a kind was missing from the last look and that is `MISSING_SECONDS` old.

No request pays for it otherwise. A resource version and a list position (`continue`) mean
the same in each version of a kind, since all of them stand for one stored object (tried on
a real API server, `tests/cluster`): watches and lists go on across a step.

Discovery is asked as the console itself, never as an impersonated user, who may lack the
right to it.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from dra_console.allocator.decoding import versions
from dra_console.allocator.model import JsonObject
from dra_console.kube.discovery import Discovered, discover
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.kinds import Kind
from dra_console.kube.transport import Request

FRESH_SECONDS: Final = 300.0
MISSING_SECONDS: Final = 30.0
SHORTEST_SECONDS: Final = 2.0
"""Between two looks that paths without anything cause: many threads find out at once."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Look:
    found: Discovered
    at: float


class ServedVersions:
    """Remembers what one API server serves; safe to share between threads."""

    def __init__(
        self,
        ask: Callable[[Request], JsonObject],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask discovery through `ask` when it is needed; `clock` counts seconds."""
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._look: _Look | None = None
        self._seek_at = -math.inf

    def of(self, kind: Kind) -> Kind:
        """Return the kind in the newest version that is served and that we know.

        Raises:
            NotFoundError: it is served in none; the message says which were looked for.
            ApiError: the server never said what it serves.

        """
        if kind.group != versions.GROUP:
            return kind
        look = self._look or self._look_again(instead_of=None)
        served = _newest(kind, look.found)
        age_seconds = self._clock() - look.at
        if served is None and age_seconds > MISSING_SECONDS:
            served = _newest(kind, self._look_again(instead_of=look).found)
        elif age_seconds > FRESH_SECONDS and self._renewing.acquire(blocking=False):
            # One thread pays for the look; the others go on with what was known.
            try:
                served = _newest(kind, self._look_again(instead_of=look).found)
            finally:
                self._renewing.release()
        if served is None:
            raise _not_served(kind, (self._look or look).found)
        return served

    def speaking(self, kind: Kind, send: Callable[[Kind], Answer]) -> Answer:
        """Send a request in the served version; once more if that one has just gone.

        Raises:
            NotFoundError: as `send` does for an object that is not there, or as `of`.

        """
        served = self.of(kind)
        try:
            return send(served)
        except NotFoundError as error:
            if error.names_object or kind.group != versions.GROUP:
                raise
            self._seek()
            now = self.of(kind)
            if now == served:
                raise
        return send(now)

    def _seek(self) -> None:
        """Look since a path has nothing behind it, but not for each of many such paths."""
        look = self._look
        if self._clock() >= self._seek_at:
            self._look_again(instead_of=look)
            self._seek_at = self._clock() + SHORTEST_SECONDS

    def _look_again(self, *, instead_of: _Look | None) -> _Look:
        """Look, unless somebody has looked since `instead_of`."""
        with self._lock:
            if self._look is None or self._look is instead_of:
                self._look = _Look(self._discovered(), self._clock())
            return self._look

    def _discovered(self) -> Discovered:
        try:
            return discover(self._ask, versions.GROUP, versions=versions.READABLE_VERSIONS)
        except ApiError:
            if self._look is None:
                raise
            # The request that follows will say what is wrong; what was known still stands.
            return self._look.found


def _newest(kind: Kind, found: Discovered) -> Kind | None:
    for version in _candidates(kind):
        if kind.plural in found.plurals_by_version.get(version, ()):
            return kind if version == kind.version else replace(kind, version=version)
    return None


def _candidates(kind: Kind) -> tuple[str, ...]:
    return tuple(each.rpartition("/")[2] for each in versions.served_versions(kind.kind))


def _not_served(kind: Kind, found: Discovered) -> NotFoundError:
    wanted = _in_words(_candidates(kind))
    if not found.versions:
        has = (
            f"has nothing of {kind.group}: dynamic resource allocation is off, or the server is"
            " older than 1.32"
        )
    elif not found.plurals_by_version:
        has = f"has it in {_in_words(found.versions)} only, which this release does not know"
    elif _having(kind, found):
        has = f"has {kind.plural} in {_in_words(_having(kind, found))} only"
    else:
        has = f"has {kind.group} in {_in_words(found.versions)}, without {kind.plural}"
    return NotFoundError(
        f"{kind.plural}: looked for {kind.group} in {wanted}; the API server {has}",
        status=404,
        reason="NotFound",
    )


def _having(kind: Kind, found: Discovered) -> tuple[str, ...]:
    return tuple(each for each, has in found.plurals_by_version.items() if kind.plural in has)


def _in_words(names: tuple[str, ...]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
