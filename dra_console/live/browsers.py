"""The browsers' socket: topics asked for, changes and readings told.

Origin and session have been looked at before `connect` (`routing`). Each topic is
authorised on its own, and all of them again once a minute, with the session: a right that
is withdrawn, a log-out, or a disabled account shows within that time. Nothing that changes
anything comes in here.

Messages from the channel layer only drop a text in the outbox, since its queue has no
bound of its own; one task per browser sends as fast as the browser reads.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final

import structlog
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.contrib.auth.models import AbstractBaseUser
from redis import RedisError

from dra_console.live.allowance import FrameAllowance
from dra_console.live.closing import CloseCode, ClosingError
from dra_console.live.frames import BrowserRequest, changed_frame, decode_request, subscribed_frame
from dra_console.live.guarded import GuardedConsumer
from dra_console.live.outbox import DropOldestOutbox
from dra_console.live.signins import session_group, signed_in_user
from dra_console.live.tick import running_tick
from dra_console.live.topics import Topic, TopicKind, allowed_topics, parse_topic
from dra_console.telemetry.messages import FrameError
from dra_console.telemetry.states import NodeKey
from dra_console.topic_ages import seconds_since_changes

CHECK_SECONDS: Final = 50
"""A disabled account's sockets end within a minute, the check's own time included."""

TOPICS_LIMIT: Final = 1000
OUTBOX_LIMIT: Final = 2 * TOPICS_LIMIT + 48
"""Readings and a change of every topic, and some answers; only a flood of requests is cut."""

REQUESTS_PER_SECOND: Final = 2

log = structlog.get_logger()


class BrowserConsumer(GuardedConsumer):
    """One tab's connection."""

    def __init__(self) -> None:
        """Start without topics."""
        super().__init__()
        self._topics: dict[str, Topic] = {}
        self._topics_lock = asyncio.Lock()
        self._outbox = DropOldestOutbox(limit=OUTBOX_LIMIT)
        self._allowance = FrameAllowance(burst=20, per_second=REQUESTS_PER_SECOND)
        self._session_key = ""
        self._answers = 0

    async def connect(self) -> None:
        """Accept whoever is signed in; anybody else is refused with 403."""
        session_key = self.scope["session"].session_key
        if session_key is None or await _signed_in_user(session_key) is None:
            await self.close()
            return
        self._session_key = session_key
        await self.channel_layer.group_add(session_group(session_key), self.channel_name)
        await self.accept()
        running_tick().join(self._outbox)
        self.run_beside(self._send_waiting())
        self.run_beside(self._keep_watch())

    async def receive(
        self,
        text_data: str | None = None,
        bytes_data: bytes | None = None,  # noqa: ARG002 - channels' signature
    ) -> None:
        """Take one request for topics."""
        if not self._is_closed:
            await self.guard(self._take(text_data))

    async def leave(self) -> None:
        running_tick().leave(self._outbox)
        if self._session_key:
            await self._drop(list(self._topics))
            await self.channel_layer.group_discard(
                session_group(self._session_key), self.channel_name
            )

    async def topic_changed(self, message: dict[str, str]) -> None:
        """Pass on that something changed; sent by `dra_console.events`."""
        topic = message["topic"]
        self._outbox.put(f"changed:{topic}", changed_frame(topic))

    async def signed_out(self, _message: dict[str, str]) -> None:
        """End with the session; sent by `live.signins`."""
        await self.end(_signed_out())

    async def _take(self, text: str | None) -> None:
        if not self._allowance.take(time.monotonic()):
            raise ClosingError(CloseCode.TOO_FAST, f"over {REQUESTS_PER_SECOND} requests a second")
        if text is None:
            raise FrameError("", "expected a text frame, got a binary one")
        request = decode_request(text)
        user = await self._user()
        async with self._topics_lock:
            await self._drop(request.unsubscribe)
            await self._subscribe(user, request)

    async def _subscribe(self, user: AbstractBaseUser, request: BrowserRequest) -> None:
        topics = {text: topic for text in request.subscribe if (topic := parse_topic(text))}
        allowed = await _allowed(user, topics.values())
        subscribed = [text for text, topic in topics.items() if topic in allowed]
        subscribed = subscribed[: TOPICS_LIMIT - len(self._topics)]
        for text in subscribed:
            self._topics[text] = topics[text]
            if topics[text].kind is not TopicKind.TELEMETRY:
                await self.channel_layer.group_add(text, self.channel_name)
        self._watch_nodes()
        ages = await _ages(t for t in subscribed if topics[t].kind is not TopicKind.TELEMETRY)
        self._answer(
            subscribed_frame(
                subscribed=subscribed,
                refused=set(request.subscribe) - set(subscribed),
                changed_seconds_ago=ages,
            )
        )

    async def _drop(self, topics: Iterable[str]) -> None:
        for text in topics:
            topic = self._topics.pop(text, None)
            if topic and topic.kind is not TopicKind.TELEMETRY:
                await self.channel_layer.group_discard(text, self.channel_name)

    def _watch_nodes(self) -> None:
        running_tick().watch(
            self._outbox,
            [
                NodeKey(topic.cluster_id, topic.name)
                for topic in self._topics.values()
                if topic.kind is TopicKind.TELEMETRY
            ],
        )

    def _answer(self, frame: str) -> None:
        self._answers += 1
        self._outbox.put(f"answer:{self._answers}", frame)

    async def _send_waiting(self) -> None:
        while True:
            await self.send(text_data=await self._outbox.take())

    async def _keep_watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            user = await self._user()
            async with self._topics_lock:
                allowed = await _allowed(user, self._topics.values())
                refused = [text for text, topic in self._topics.items() if topic not in allowed]
                if refused:
                    await self._drop(refused)
                    self._watch_nodes()
                    self._answer(
                        subscribed_frame(subscribed=(), refused=refused, changed_seconds_ago={})
                    )

    async def _user(self) -> AbstractBaseUser:
        user = await _signed_in_user(self._session_key)
        if user is None:
            raise _signed_out()
        return user


# Questions go not to the one thread that consumers share by default: rights may be asked of
# an API server that is slow to answer.


async def _signed_in_user(session_key: str) -> AbstractBaseUser | None:
    return await database_sync_to_async(signed_in_user, thread_sensitive=False)(session_key)


async def _allowed(user: AbstractBaseUser, topics: Iterable[Topic]) -> frozenset[Topic]:
    return await database_sync_to_async(allowed_topics, thread_sensitive=False)(user, list(topics))


async def _ages(topics: Iterable[str]) -> Mapping[str, float | None]:
    asked = list(topics)
    try:
        return dict(await sync_to_async(seconds_since_changes, thread_sensitive=False)(asked))
    except RedisError as error:
        # Not known; the page refreshes itself then, as after any change.
        log.warning("ages of topics not read", error=str(error))
        return dict.fromkeys(asked)


def _signed_out() -> ClosingError:
    return ClosingError(CloseCode.NOT_AUTHENTICATED, "signed out")
