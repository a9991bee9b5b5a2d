"""The console's programs: production's processes with addresses on this machine."""

import shutil
import sys
from typing import Final

from dra_console.running.children import Program
from dra_console.running.ports import Ports
from dra_console.running.state import State

UNBUFFERED: Final = {"PYTHONUNBUFFERED": "1"}
BEAT_STOPS, WORK_STOPS, WEB_STOPS, CLUSTER_STOPS, REDIS_STOPS = range(5)
"""The order in which things end: whoever gives work first, what all need last."""


def console_environment(state: State, ports: Ports) -> dict[str, str]:
    """Settings of web, worker, beat and the management commands."""
    return {
        "DJANGO_SETTINGS_MODULE": "dra_console.settings",
        "DRA_CONSOLE_SECRET_KEY_FILE": str(state.secret_key),
        "DRA_CONSOLE_DATABASE_URL": f"sqlite://{state.database}",
        "DRA_CONSOLE_REDIS_URL": f"redis://127.0.0.1:{ports.redis}/0",
        "DRA_CONSOLE_ALLOWED_HOSTS": "127.0.0.1 localhost",
        "DRA_CONSOLE_ALLOWED_ORIGINS": (
            f"http://127.0.0.1:{ports.web} http://localhost:{ports.web}"
        ),
        **UNBUFFERED,
    }


def redis_program(state: State, ports: Ports) -> Program:
    """Prefer a real redis-server; else fakeredis' TCP server, which needs no installing."""
    argv: tuple[str, ...]
    if server := shutil.which("redis-server"):
        argv = (
            *(server, "--port", str(ports.redis), "--bind", "127.0.0.1"),
            *("--dir", str(state.home), "--save", "", "--appendonly", "no"),
        )
    else:
        module = "dra_console.running.redis_server"
        argv = (sys.executable, "-m", module, "--port", str(ports.redis))
    return Program("redis", argv, UNBUFFERED, stop_order=REDIS_STOPS)


def console_programs(state: State, ports: Ports) -> tuple[Program, ...]:
    """Lay out web, worker and beat."""
    environment = console_environment(state, ports)
    celery = (sys.executable, "-m", "celery", "-A", "dra_console.celery")
    web = (
        *(sys.executable, "-m", "uvicorn", "dra_console.asgi:application"),
        *("--host", "127.0.0.1", "--port", str(ports.web), "--no-access-log"),
        *("--timeout-graceful-shutdown", "3", "--ws-max-size", "1048576"),
    )
    worker = (
        *celery,
        *("worker", "-Q", "sync,schedule,default"),
        *("--without-gossip", "--without-mingle", "-l", "INFO"),
    )
    beat = (*celery, "beat", "--schedule", str(state.home / "beat-schedule"), "--pidfile=")
    return (
        Program("web", web, environment, stop_order=WEB_STOPS),
        Program("worker", worker, environment, stop_order=WORK_STOPS),
        Program("beat", beat, environment, stop_order=BEAT_STOPS),
    )
