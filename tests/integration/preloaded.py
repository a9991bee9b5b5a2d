"""Programs of ours that begin with their modules loaded.

A process that has imported a program is forked for each run of it. Nothing else is shared: a run
has its own process id, ends by signals and reports its exit status, as one from its command line
does. It saves half a second of a processor, and hundreds of tests start such programs.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

PRELOADED: Final = (
    "dra_console.devcluster.__main__",
    "nodeagent.__main__",
    # What workers and beats begin with; Django's settings are read by each itself.
    "celery.bin.celery",
    "dra_console.allocator.explanation.explain",
    "dra_console.kube.client",
    "django.contrib.postgres.fields",
    "kombu.transport.redis",
    "kubernetes.config",
)
"""Others can be run as well; what they import beside these they import themselves."""

_forks: Final = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload([__name__, *PRELOADED])


class PreloadedProcess:
    """`python -m MODULE ARGUMENTS`; its methods are those of `subprocess.Popen`."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, with this process's environment if no other is given.

        What it prints is added to the log.
        """
        given = dict(os.environ if environment is None else environment)
        words = [str(each) for each in arguments]
        self._process: Final = _forks.Process(
            target=_run, args=(module, words, str(log), given), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self._process.name, timeout)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()


def _run(module: str, arguments: list[str], log: str, environment: dict[str, str]) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    # It is to run as `__main__`, as if nobody had imported it.
    sys.modules.pop(f"{module}.__main__", None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
