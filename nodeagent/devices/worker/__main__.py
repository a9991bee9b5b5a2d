"""The worker process: `python -m nodeagent.devices.worker SETTINGS`, the pipe as standard input.

One call after the other on the main thread, events on a second one. It ends with its parent,
whatever it is doing: a worker that outlives its agent would keep the driver's library in use.
"""

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from typing import Final

import msgspec

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import DevicesError, DriverTimeoutError
from nodeagent.devices.events import DriverEvent
from nodeagent.devices.nvml.session import NvmlSession
from nodeagent.devices.settings import Settings
from nodeagent.devices.worker.messages import (
    Answer,
    Message,
    Noted,
    Pipe,
    Progress,
    Request,
    Told,
    decode_request,
    encode,
)

CALLS: Final = frozenset(
    {
        "discover", "read", "details", "vitals", "processes", "instances", "create_partition",
        "destroy_partition", "set_mig_mode", "set_compute_mode",
    }
)  # fmt: skip
PROGRESS_SECONDS: Final = 1.0
PR_SET_PDEATHSIG: Final = 1


class Worker:
    """Answers the calls of one proxy."""

    def __init__(self, pipe: Pipe, settings: Settings) -> None:
        self._pipe = pipe
        self._writing = threading.Lock()
        self._told_at = 0.0
        self._session = NvmlSession(
            settings, note=self._note, tell=self._tell, progress=self._progress
        )

    def run(self) -> None:
        """Say that it has begun, then answer until the proxy goes."""
        self._write(Progress())
        while (frame := self._pipe.read()) is not None:
            self._write(self._answer(decode_request(frame)))
        self._session.close()

    def _answer(self, request: Request) -> Answer:
        try:
            result = self._done(request)
        except Exception as error:  # noqa: BLE001 - sent to the caller, whatever it is
            kind = type(error).__name__
            return Answer(request.number, error=(kind, str(error) or kind))
        return Answer(request.number, msgspec.Raw(encode(result)))

    def _done(self, request: Request) -> object:
        if time.monotonic() >= request.expires_at:
            # Its caller has given up, and may have planned otherwise since.
            raise DriverTimeoutError(f"{request.call} came too late to begin")
        if request.call not in CALLS:
            raise DevicesError(f"no such call: {request.call}")
        return getattr(self._session, request.call)(*_decoded(request))

    def _note(self, level: str, text: str, **fields: object) -> None:
        self._write(Noted(level, text, fields))

    def _tell(self, event: DriverEvent) -> None:
        self._write(Told(event))

    def _progress(self) -> None:
        if time.monotonic() - self._told_at >= PROGRESS_SECONDS:
            self._told_at = time.monotonic()
            self._write(Progress())

    def _write(self, message: Message) -> None:
        with self._writing:
            self._pipe.write(message)


def _decoded(request: Request) -> tuple[object, ...]:
    if request.call != "destroy_partition":
        return request.arguments
    gpu_uuid, instance = request.arguments
    return gpu_uuid, msgspec.convert(instance, Instance)


def main() -> None:
    """Run as a process."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    # The agent decides when it is over; Ctrl-C in a terminal reaches both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = msgspec.json.decode(sys.argv[1], type=Settings, dec_hook=lambda kind, it: kind(it))
    try:
        Worker(Pipe(socket.socket(fileno=0)), settings).run()
    except ConnectionError:
        # The proxy is gone: nobody is left to be told.
        return


if __name__ == "__main__":
    main()
