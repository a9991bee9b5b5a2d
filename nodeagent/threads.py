"""The threads of one process: if one fails, all end, and the process says why."""

import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class Threads:
    """Named parts that run until somebody stops the process."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._failure: Exception | None = None

    def begin(self, name: str, run: Callable[[], None]) -> threading.Thread:
        """Run a part on a thread of its own; its failure ends `wait`."""

        def guarded() -> None:
            try:
                run()
            except Exception as error:
                log.exception("part failed", part=name)
                self._failure = error
                self._stopping.set()

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Have `wait` return; callable from a signal handler."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when the process is to end."""
        self._stopping.wait()

    def raise_failure(self) -> None:
        """Raise what ended a part, if one has failed."""
        if self._failure is not None:
            raise self._failure
