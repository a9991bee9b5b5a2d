"""What the demo runs beside the console: a cluster, node agents, and pods that come and go."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.demo.layout import Layout, Ports
from dra_console.running.children import Program
from dra_console.running.programs import (
    BEAT_STOPS,
    CLUSTER_STOPS,
    UNBUFFERED,
    WORK_STOPS,
    console_programs,
    redis_program,
)

CLUSTER = "demo"
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


def plan(layout: Layout, ports: Ports, *, with_workload: bool) -> Plan:
    """Lay out every program with its arguments."""
    module = "dra_console.demo.workload"
    workload = (sys.executable, "-m", module, "--kubeconfig", str(layout.kubeconfig))
    return Plan(
        servers=(
            redis_program(layout, ports),
            Program("devcluster", _devcluster(layout, ports), UNBUFFERED, CLUSTER_STOPS),
        ),
        console=console_programs(layout, ports),
        agents=tuple(
            Program(f"agent-{node}", _agent(layout, ports, node), UNBUFFERED, WORK_STOPS)
            for node in NODE_PROFILES
        ),
        workload=(Program("workload", workload, UNBUFFERED, BEAT_STOPS),) if with_workload else (),
    )


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
        *("--console-url", f"ws://127.0.0.1:{ports.web}/ws/v1/agents?cluster={CLUSTER}"),
        *("--console-token-file", str(root / "agent-token")),
    )
