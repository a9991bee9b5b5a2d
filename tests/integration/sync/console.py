"""The console's own processes on a database of their own: workers, beats, commands."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMMAND_SECONDS = 120


@dataclass(slots=True)
class Console:
    """Processes that share a database file and a Redis, and are ended together."""

    directory: Path
    redis_url: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

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

    def start_worker(self, name: str) -> subprocess.Popen[bytes]:
        options = ("--pool", "threads", "-c", "16", "--without-gossip", "--without-mingle")
        return self._start(name, "worker", "-Q", "sync", "-n", name, *options)

    def start_beat(self, name: str) -> subprocess.Popen[bytes]:
        schedule = self.directory / f"{name}-schedule"
        return self._start(name, "beat", "--schedule", str(schedule), "--pidfile=")

    def logs(self) -> str:
        return "\n".join(log.read_text() for log in sorted(self.directory.glob("*.log")))

    def kill_all(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "dra_console.celery", *arguments],
                cwd=ROOT,
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "DJANGO_SETTINGS_MODULE": "dra_console.settings",
            "DRA_CONSOLE_DATABASE_URL": f"sqlite://{self.directory / 'console.sqlite3'}",
            "DRA_CONSOLE_REDIS_URL": self.redis_url,
        }
