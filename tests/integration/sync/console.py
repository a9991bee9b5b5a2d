"""The console's own processes on a database of their own: workers, beats, commands."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tests.integration.preloaded import PreloadedProcess

ROOT = Path(__file__).resolve().parents[3]
COMMAND_SECONDS = 120
APP = "dra_console.celery"
Process: TypeAlias = subprocess.Popen[bytes] | PreloadedProcess


@dataclass(slots=True)
class Console:
    """Processes that share a database file and a Redis, and are ended together."""

    directory: Path
    redis_url: str
    database_url: str = ""
    """Empty: a SQLite file of its own."""

    is_preloaded: bool = False
    """Whether workers and beats are forked with their modules loaded."""

    processes: list[Process] = field(default_factory=list)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one management command to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def start_worker(
        self,
        name: str,
        *,
        app: str = APP,
        queues: str = "sync",
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        options = ("--without-gossip", "--without-mingle")
        words = ("worker", "-Q", queues, "-n", name, *options)
        return self._start(name, *words, app=app, environment=environment)

    def start_beat(self, name: str, *, environment: Mapping[str, str] | None = None) -> Process:
        schedule = self.directory / f"{name}-schedule"
        words = ("beat", "--schedule", str(schedule), "--pidfile=")
        return self._start(name, *words, app=APP, environment=environment)

    def start_web(self, *, port: int, environment: Mapping[str, str] | None = None) -> Process:
        """Serve pages, REST API and sockets."""
        words = ("dra_console.asgi:application", "--port", str(port), "--no-access-log")
        origin = {"DRA_CONSOLE_ALLOWED_ORIGINS": f"http://127.0.0.1:{port}"}
        return self._run("web", "uvicorn", *words, environment={**origin, **(environment or {})})

    @property
    def sqlite_file(self) -> Path:
        return self.directory / "console.sqlite3"

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Read from the SQLite file."""
        connection = sqlite3.connect(self.sqlite_file, timeout=20)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def logs(self) -> str:
        return "\n".join(log.read_text() for log in sorted(self.directory.glob("*.log")))

    def kill_all(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(
        self, name: str, *arguments: str, app: str, environment: Mapping[str, str] | None
    ) -> Process:
        words = ("-A", app, *arguments)
        return self._run(name, "celery", *words, environment=environment)

    def _run(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None
    ) -> Process:
        log = self.directory / f"{name}.log"
        whole = {**self._environment(), **(environment or {})}
        process: Process
        if self.is_preloaded:
            process = PreloadedProcess(module, arguments, log=log, environment=whole)
        else:
            command = [sys.executable, "-m", module, *arguments]
            with log.open("ab") as file:
                process = subprocess.Popen(command, cwd=ROOT, env=whole, stdout=file, stderr=file)
        self.processes.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        sqlite = f"sqlite://{self.sqlite_file}"
        return os.environ | {
            "DJANGO_SETTINGS_MODULE": "dra_console.settings",
            "DRA_CONSOLE_DATABASE_URL": self.database_url or sqlite,
            "DRA_CONSOLE_REDIS_URL": self.redis_url,
        }
