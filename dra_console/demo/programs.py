"""What the demo runs: production's processes with the demo's addresses."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.demo.children import Program
from dra_console.demo.layout import Layout, Ports

DRIVER = "gpu.nvidia.com"

NODE_PROFILES: Mapping[str, str] = {
    "gpu-01": "h100x8",
    "gpu-02": "h100x8",
    "gpu-03": "h100x8",
    "mig-01": "a100x2-mig",
    "l4-01": "l4x4",
    "l4-02": "l4x4-t4x1",
}
"""Node to the simulated GPUs that its agent finds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The demo's programs, in the groups in which they are started."""

    servers: tuple[Program, ...]
    console: tuple[Program, ...]
    agents: tuple[Program, ...]
    workload: tuple[Program, ...]


def console_environment(layout: Layout, ports: Ports) -> dict[str, str]:
    """Settings of web, worker, beat and the management commands."""
    return {
        "DJANGO_SETTINGS_MODULE": "dra_console.settings",
        "DRA_CONSOLE_SECRET_KEY_FILE": str(layout.secret_key),
        "DRA_CONSOLE_DATABASE_URL": f"sqlite://{layout.database}",
        "DRA_CONSOLE_REDIS_URL": f"redis://127.0.0.1:{ports.redis}/0",
        "DRA_CONSOLE_ALLOWED_HOSTS": "127.0.0.1 localhost",
        "DRA_CONSOLE_ALLOWED_ORIGINS": (
            f"http://127.0.0.1:{ports.web} http://localhost:{ports.web}"
        ),
        "PYTHONUNBUFFERED": "1",
    }


def plan(layout: Layout, ports: Ports, *, with_workload: bool) -> Plan:
    """Lay out every program with its arguments."""
    python = sys.executable
    environment = console_environment(layout, ports)
    unbuffered = {"PYTHONUNBUFFERED": "1"}
    celery = (python, "-m", "celery", "-A", "dra_console.celery")
    web = (
        *(python, "-m", "uvicorn", "dra_console.asgi:application", "--host", "127.0.0.1"),
        *(
            "--port",
            str(ports.web),
            "--no-access-log",
            "--timeout-graceful-shutdown",
            "3",
            "--ws-max-size",
            "1048576",
        ),
    )
    worker = (
        *celery,
        *("worker", "-Q", "sync,schedule,default"),
        *("--without-gossip", "--without-mingle", "-l", "INFO"),
    )
    beat = (*celery, "beat", "--schedule", str(layout.home / "beat-schedule"), "--pidfile=")
    workload = (python, "-m", "dra_console.demo.workload", "--kubeconfig", str(layout.kubeconfig))
    return Plan(
        servers=(
            Program("redis", _redis(layout, ports), unbuffered, stop_order=4),
            Program("devcluster", _devcluster(layout, ports), unbuffered, stop_order=3),
        ),
        console=(
            Program("web", web, environment, stop_order=2),
            Program("worker", worker, environment, stop_order=1),
            Program("beat", beat, environment, stop_order=0),
        ),
        agents=tuple(
            Program(f"agent-{node}", _agent(layout, ports, node), unbuffered, stop_order=1)
            for node in NODE_PROFILES
        ),
        workload=(Program("workload", workload, unbuffered, stop_order=0),)
        if with_workload
        else (),
    )


def _redis(layout: Layout, ports: Ports) -> tuple[str, ...]:
    """Prefer a real redis-server; else fakeredis' TCP server, which needs no installing."""
    if server := shutil.which("redis-server"):
        return (
            *(server, "--port", str(ports.redis), "--bind", "127.0.0.1"),
            *("--dir", str(layout.home), "--save", "", "--appendonly", "no"),
        )
    return (sys.executable, "-m", "dra_console.demo.redis_server", "--port", str(ports.redis))


def _devcluster(layout: Layout, ports: Ports) -> tuple[str, ...]:
    return (
        *(sys.executable, "-m", "dra_console.devcluster", "--scenario", "demo"),
        *("--data-dir", str(layout.devcluster), "--nodes-dir", str(layout.nodes)),
        *("--port", str(ports.api_server), "--kubeconfig", str(layout.kubeconfig)),
    )


def _agent(layout: Layout, ports: Ports, node: str) -> tuple[str, ...]:
    root = layout.nodes / node
    return (
        *(sys.executable, "-m", "nodeagent", "--node-name", node, "--driver", DRIVER),
        *("--simulate", "--profile", NODE_PROFILES[node]),
        *("--kubelet-root", str(root), "--cdi-dir", str(root / "cdi")),
        *("--kubeconfig", str(layout.kubeconfig)),
        *("--console-url", f"ws://127.0.0.1:{ports.web}/ws/v1/agents"),
        *("--console-token-file", str(root / "agent-token")),
    )
