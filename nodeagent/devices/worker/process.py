"""One worker process as seen from the agent: started, asked, and ended if it says nothing.

A thread owns the process: it starts it, reads what comes, and sees it end. The kernel ends a child
whose parent thread has ended, so that thread lives as long as the worker.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import Any, Final

import msgspec
import structlog

from nodeagent.devices.errors import DriverTimeoutError, NoDriverError
from nodeagent.devices.settings import Settings
from nodeagent.devices.worker.messages import (
    Answer,
    FrameError,
    Message,
    Noted,
    Pipe,
    Request,
    Told,
    decode_message,
)

log = structlog.get_logger()

MODULE: Final = "nodeagent.devices.worker"
END_SECONDS: Final = 3.0
"""How long a worker may take to let the driver go."""

ORDERLY_SECONDS: Final = 0.5
"""From the end of its messages to the end of the process."""

START_SECONDS: Final = 60.0
"""How long Python may take to begin on a starved machine, which is no fault of the driver."""

WAITING_CALLS: Final = 32
"""More than this in the pipe are refused: the worker is not keeping up."""


class WorkerProcess:
    """A worker that runs, or has ended; a new one is another object."""

    def __init__(
        self,
        settings: Settings,
        *,
        environment: Mapping[str, str],
        on_event: Callable[[Told], None],
    ) -> None:
        self._on_event = on_event
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {}
        self._heard_at = time.monotonic()
        self._has_spoken = False
        self._has_ended = threading.Event()
        ours, theirs = socket.socketpair()
        ours.settimeout(None)
        self._connection = ours
        self._pipe = Pipe(ours)
        self._process: subprocess.Popen[bytes] | None = None
        has_begun = threading.Event()
        self._thread = threading.Thread(
            target=self._run,
            args=(settings, environment, theirs, has_begun),
            name="nvml-worker",
            daemon=True,
        )
        self._thread.start()
        has_begun.wait()

    @property
    def is_alive(self) -> bool:
        """Whether it can still answer."""
        return not self._has_ended.is_set()

    @property
    def pid(self) -> int | None:
        """Its process id, while it runs."""
        return self._process.pid if self._process and self.is_alive else None

    def silent_seconds(self) -> float:
        """Return for how long it has owed something without a word.

        0 while it owes nothing, and for `START_SECONDS` while it has not begun.
        """
        with self._lock:
            if not self._waiting:
                return 0.0
            silent_seconds = time.monotonic() - self._heard_at
            return silent_seconds if self._has_spoken else max(silent_seconds - START_SECONDS, 0.0)

    def ask(self, call: str, arguments: tuple[Any, ...], *, seconds: float) -> Answer:
        """Have one call done.

        Raises:
            DriverTimeoutError: no answer within the time; the call may still happen if it began.
            NoDriverError: the worker has ended.

        """
        number = next(self._numbers)
        future: Future[Answer] = Future()
        request = Request(number, call, arguments, time.monotonic() + seconds)
        with self._lock:
            if not self._waiting:
                self._heard_at = time.monotonic()
            if len(self._waiting) >= WAITING_CALLS:
                raise DriverTimeoutError(f"{WAITING_CALLS} calls wait for the driver already")
            self._waiting[number] = future
        try:
            self._send(request)
            return future.result(seconds)
        except TimeoutError:
            raise DriverTimeoutError(
                f"the driver did not answer {call} within {seconds:g} s"
            ) from None

    def end(self) -> None:
        """Let it close the session and go; kill it if it does not. Returns within seconds."""
        with suppress(OSError):
            # It may have ended by itself.
            self._connection.shutdown(socket.SHUT_WR)
        if not self._has_ended.wait(END_SECONDS):
            self.kill()
        self._thread.join(END_SECONDS)

    def kill(self) -> None:
        """End it now. One that sleeps in the kernel goes when the kernel lets it."""
        if self._process is not None:
            self._process.kill()
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _send(self, request: Request) -> None:
        with self._lock:
            try:
                self._pipe.write(request)
            except OSError as error:
                self._waiting.pop(request.number, None)
                raise NoDriverError(f"the driver's worker has ended: {error}") from error

    def _run(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        theirs: socket.socket,
        has_begun: threading.Event,
    ) -> None:
        encoded = msgspec.json.encode(settings, enc_hook=str).decode()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", MODULE, encoded],
                    stdin=theirs.fileno(),
                    # Whatever the driver's library prints must not get between our own lines.
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, **environment},
                )
            has_begun.set()
            self._read()
        except OSError as error:
            log.warning("nvml worker not started", reason=str(error))
        finally:
            has_begun.set()
            self._has_ended.set()
            self._refuse_waiting()
            self._connection.close()
            self._reap()

    def _read(self) -> None:
        try:
            while (frame := self._pipe.read()) is not None:
                self._heard_at = time.monotonic()
                self._has_spoken = True
                self._take(decode_message(frame))
        except (FrameError, msgspec.DecodeError, OSError) as error:
            log.exception("nvml worker not understood", reason=str(error))

    def _take(self, message: Message) -> None:
        if isinstance(message, Answer):
            with self._lock:
                future = self._waiting.pop(message.number, None)
            if future is not None:
                future.set_result(message)
        elif isinstance(message, Told):
            self._on_event(message)
        elif isinstance(message, Noted):
            getattr(log, message.level)(message.text, **message.fields)

    def _refuse_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(NoDriverError("the driver's worker has ended"))

    def _reap(self) -> None:
        if self._process is None:
            return
        pid = self._process.pid
        try:
            # What it was told to do, or what it died of.
            status = self._process.wait(ORDERLY_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            try:
                status = self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                log.warning("nvml worker hangs in the kernel", pid=pid)
                status = self._process.wait()
        log.info("nvml worker ended", pid=pid, status=status)
