"""One holder at a time, in Redis, with a fencing number.

A lease keeps two workers from doing the same thing twice at once. It cannot be relied on
alone: a holder that the operating system stops for a minute wakes up believing in a lease
that somebody else has had since. Whoever writes under a lease therefore also stores its
`fence` with what it writes, and refuses to write where a newer fence is stored.

Fences grow with each holder. They are counted in Redis, from Redis' clock in milliseconds
upwards, so that they also grow when Redis restarts empty; the clocks of the workers play
no part. Whoever knows a fence that was written already says so (`above`): then they also
grow when Redis comes back empty on a machine whose clock is behind.
"""

import secrets
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

import redis
import structlog
from django.conf import settings

if TYPE_CHECKING:
    from redis.commands.core import Script

log = structlog.get_logger()

RENEWALS_PER_TERM: Final = 3
"""Two renewals may fail before a lease is lost."""

_TAKE: Final = """
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
local now = redis.call('time')
local fence = math.max(
  tonumber(redis.call('get', KEYS[2]) or '0') + 1,
  tonumber(ARGV[3]) + 1,
  tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
)
redis.call('set', KEYS[2], string.format('%.0f', fence))
return fence
"""

_RENEW: Final = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
"""

_GIVE_BACK: Final = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('del', KEYS[1])
"""


class Lease:
    """A lease while it is held; made by `lease` alone."""

    def __init__(self, name: str, *, fence: int, seconds: int, token: str, asked_at: float) -> None:
        """Start from a lease that Redis gave; `asked_at` is monotonic time before asking."""
        self.name = name
        self.fence = fence
        self._seconds = seconds
        self._token = token
        self._valid_until = asked_at + seconds
        self._taken_away = False
        self._given_back = threading.Event()

    @property
    def is_lost(self) -> bool:
        """Tell whether somebody else may hold it by now; nothing may be written any more."""
        return self._taken_away or time.monotonic() >= self._valid_until

    def keep(self) -> None:
        """Renew it until it is given back or lost; the body of the renewal thread."""
        while not self._given_back.wait(self._seconds / RENEWALS_PER_TERM):
            asked_at = time.monotonic()
            try:
                renewed = _script(_RENEW)(
                    keys=[_key(self.name)], args=[self._token, self._seconds * 1000]
                )
            except redis.RedisError as error:
                # Not lost yet: Redis may be back before the term is over.
                log.warning("lease not renewed", lease=self.name, error=str(error))
                continue
            if not renewed and self._given_back.is_set():
                # Its holder was done while the question was under way.
                return
            if not renewed:
                self._taken_away = True
                log.warning("lease lost", lease=self.name, fence=self.fence)
                return
            self._valid_until = asked_at + self._seconds

    def give_back(self) -> None:
        """Stop renewing and let the next holder have it at once, unless it has it already."""
        self._given_back.set()
        try:
            _script(_GIVE_BACK)(keys=[_key(self.name)], args=[self._token])
        except redis.RedisError as error:
            # It runs out by itself; what the holder did is done and must not fail for this.
            log.warning("lease not given back", lease=self.name, error=str(error))


@contextmanager
def lease(name: str, *, seconds: int, above: int = 0) -> Iterator[Lease | None]:
    """Hold the lease `name` for the block, or get `None` if somebody else holds it.

    Its fence is greater than every one before it that Redis remembers, and than `above`.
    It is renewed in the background while the block runs, however long that is, and is free
    `seconds` after its holder died. Long blocks ask `is_lost` before each effect.
    """
    token = secrets.token_hex(16)
    asked_at = time.monotonic()
    fence = _script(_TAKE)(keys=[_key(name), _fence_key(name)], args=[token, seconds * 1000, above])
    if fence is None:
        yield None
        return
    held = Lease(name, fence=int(fence), seconds=seconds, token=token, asked_at=asked_at)
    renewal = threading.Thread(target=held.keep, name=f"lease {name}", daemon=True)
    renewal.start()
    try:
        yield held
    finally:
        held.give_back()
        renewal.join()


def is_held(name: str) -> bool:
    """Tell whether anybody holds the lease right now; only good for not even trying."""
    return bool(_redis().exists(_key(name)))


def held_among(names: Collection[str]) -> frozenset[str]:
    """Return which of these leases somebody holds right now, in one round trip.

    Raises:
        RedisError: Redis does not tell.

    """
    with _redis().pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.exists(_key(name))
        answers = pipeline.execute()
    return frozenset(name for name, held in zip(names, answers, strict=True) if held)


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2, health_check_interval=30
    )


@cache
def _script(text: str) -> "Script":
    return _redis().register_script(text)


def _key(name: str) -> str:
    return f"lease:{{{name}}}"


def _fence_key(name: str) -> str:
    # Both keys in one hash slot, as a script on a Redis cluster needs it.
    return f"lease:{{{name}}}:fence"
