"""A real web server with both sockets, a real Redis, and an API server that answers reviews."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TypeVar

import pytest
import redis
import uvicorn
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client as HttpClient
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from dra_console.access.models import Profile
from dra_console.asgi import application
from dra_console.mirror.models import Cluster
from tests.builders.reviews import Reviews, Right, TokenOwner, a_review_server

ORIGIN = "http://127.0.0.1:8000"
"""What `settings.ALLOWED_ORIGINS` allows, whatever port the test's server has."""

AGENT_TOKEN = "token-of-gpu-01"


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[Reviews]:
    with a_review_server(tmp_path) as running:
        running.tokens[AGENT_TOKEN] = TokenOwner(settings.AGENT_USERNAME, "gpu-01")
        yield running
    cache.clear()


@pytest.fixture
def empty_redis(redis_url: str) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def cluster(
    transactional_db: None,  # noqa: ARG001 - only has to be there
    reviews: Reviews,
) -> Cluster:
    return Cluster.objects.create(name="demo", kubeconfig=reviews.kubeconfig)


@dataclass(frozen=True, slots=True)
class Console:
    """One web process."""

    port: int

    def browser(
        self,
        session_key: str,
        *,
        origin: str | None = ORIGIN,
        max_queue: int = 16,
        compression: str | None = "deflate",
    ) -> AbstractAsyncContextManager[ClientConnection]:
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session_key}"}
        if origin is not None:
            headers["Origin"] = origin
        return self.connection("/ws/v1/live", headers, max_queue=max_queue, compression=compression)

    def agent(
        self, token: str = AGENT_TOKEN, *, query: str = "", **headers: str
    ) -> AbstractAsyncContextManager[ClientConnection]:
        headers |= {"Authorization": f"Bearer {token}"}
        return self.connection(f"/ws/v1/agents{query}", headers)

    @asynccontextmanager
    async def connection(
        self,
        path: str,
        headers: Mapping[str, str],
        *,
        max_queue: int = 16,
        compression: str | None = "deflate",
    ) -> AsyncIterator[ClientConnection]:
        address = f"ws://127.0.0.1:{self.port}{path}"
        async with connect(
            address,
            additional_headers=headers,
            max_queue=max_queue,
            compression=compression,
            close_timeout=0.2,
        ) as opened:
            yield opened


@pytest.fixture
def console(
    cluster: Cluster,  # noqa: ARG001 - only has to be there
    empty_redis: redis.Redis,  # noqa: ARG001 - only has to be there
) -> Iterator[Console]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    yield Console(port=listening.getsockname()[1])
    server.should_exit = True
    thread.join(10)


def sign_in(username: str, *, active: bool = True) -> str:
    """Make an account with a Kubernetes name of its own, and a session."""
    user = User.objects.create_user(username, is_active=active)
    Profile.objects.create(user=user, kubernetes_username=username)
    browser = HttpClient()
    browser.force_login(user)
    session_key = browser.session.session_key
    assert session_key is not None
    return session_key


def allow_everything(reviews: Reviews, username: str) -> None:
    reviews.rights |= {
        Right(username, "list", "resourceslices"),
        Right(username, "list", "nodes"),
        Right(username, "list", "resourceclaims"),
        Right(username, "get", "resourceclaims"),
    }


@pytest.fixture
def admin_session(
    cluster: Cluster,  # noqa: ARG001 - only has to be there
    reviews: Reviews,
) -> str:
    allow_everything(reviews, "admin")
    return sign_in("admin")


Answer = TypeVar("Answer")


async def until(ask: Callable[[], Answer]) -> Answer:
    """Ask until the answer is not empty."""
    async with asyncio.timeout(10):
        while not (answer := ask()):  # noqa: ASYNC110 - what is asked for lies in Redis
            await asyncio.sleep(0.02)
    return answer


async def closing_of(opened: ClientConnection) -> tuple[int | None, str]:
    """Read until the other side closes; give its code and reason."""
    async with asyncio.timeout(10):
        with contextlib.suppress(ConnectionClosed):
            while True:
                await opened.recv()
    return opened.close_code, opened.close_reason or ""
