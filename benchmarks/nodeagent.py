"""What an idle node agent costs: memory and processor time of itself and of its NVML worker.

`python -m benchmarks.nodeagent` runs an agent on a node with eight H100, which a fake of the
driver's library plays, against devcluster with its kubelet, and lets it be. The library answers at
once and takes no memory, so the real one's own comes on top. The agent samples every GPU once a
second all the while, looks after their health, and keeps its slices and the CDI directory.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.machine import machine
from benchmarks.table import aligned, renew
from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from tests.fake_nvml.machine import FakeMachine
from tests.integration.devclusters import running_devcluster
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, eventually

NODE: Final = "bench-node"
GPUS: Final = 8
SETTLING_SECONDS: Final = 20
MEMORY_TARGET: Final = 120.0
"""Megabytes resident, agent and worker together, pages that both have counted twice."""

PROCESSOR_TARGET: Final = 1.0
"""Percent of one core."""

TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """One process, as the kernel accounts for it."""

    name: str
    resident_megabytes: float
    proportional_megabytes: float
    """Pages that several processes have, counted in parts."""

    processor_percent: float

    @property
    def row(self) -> tuple[str, ...]:
        figures = (self.resident_megabytes, self.proportional_megabytes)
        return (self.name, *(f"{one:.1f} MB" for one in figures), f"{self.processor_percent:.2f} %")

    def to_json(self) -> JsonObject:
        return {
            "process": self.name,
            "resident_megabytes": self.resident_megabytes,
            "proportional_megabytes": self.proportional_megabytes,
            "processor_percent": self.processor_percent,
        }


def measure(seconds: float) -> tuple[Cost, ...]:
    """Run an agent, let it settle, and watch it for that long."""
    with tempfile.TemporaryDirectory(prefix="na") as directory:
        root = Path(directory)
        (root / "cluster").mkdir()
        node = FakeMachine(root / "machine")
        for _ in range(GPUS):
            node.add("H100-80")
        with running_devcluster(root / "cluster") as cluster:
            api_server = ApiServer(Client.from_kubeconfig(str(cluster.kubeconfig)))
            api_server.make_node(NODE)
            agent = AgentProcess(
                NODE,
                root / "kubelet",
                cluster.kubeconfig,
                None,
                ("--driver-root-mounted", str(node.root), "--metrics-address", "127.0.0.1:0"),
                environment={"FAKE_NVML": str(node.directory / "nvml")},
            )
            agent.start()
            try:
                agent.wait_until_it_serves()
                eventually(lambda: len(_published(api_server)) == GPUS)
                time.sleep(SETTLING_SECONDS)
                return _watch(agent.process.pid, seconds)
            finally:
                agent.kill()


def _published(api_server: ApiServer) -> list[str]:
    slices = api_server.has_whole_pool(NODE)
    return [device["name"] for one in slices for device in one["spec"].get("devices", ())]


def _watch(agent: int, seconds: float) -> tuple[Cost, ...]:
    (worker,) = _children(agent)
    before = {pid: _processor_seconds(pid) for pid in (agent, worker)}
    began = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    spent = {pid: _processor_seconds(pid) - before[pid] for pid in before}
    parts = tuple(
        _cost(name, pid, percent=100 * spent[pid] / took)
        for name, pid in (("agent", agent), ("NVML worker", worker))
    )
    both = Cost(
        "together",
        sum(one.resident_megabytes for one in parts),
        sum(one.proportional_megabytes for one in parts),
        sum(one.processor_percent for one in parts),
    )
    return (*parts, both)


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in threads for one in (task / "children").read_text().split()]


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _cost(name: str, pid: int, *, percent: float) -> Cost:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    told = dict(line.split(":", 1) for line in lines)
    resident, proportional = (int(told[key].split()[0]) * 1024 / 1e6 for key in ("Rss", "Pss"))
    return Cost(name, resident, proportional, percent)


def figures(costs: tuple[Cost, ...], facts: JsonObject) -> str:
    """Write the machine, a table, and whether the targets are met."""
    together = costs[-1]
    head = ("process", "resident", "proportional", "one core")
    met = {True: "yes", False: "NO"}
    fits, is_cheap = (
        met[together.resident_megabytes < MEMORY_TARGET],
        met[together.processor_percent < PROCESSOR_TARGET],
    )
    wanted = (
        f"- resident, together < {MEMORY_TARGET:g} MB: {fits}",
        f"- of one core, together < {PROCESSOR_TARGET:g} %: {is_cheap}",
    )
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    table = aligned([head, *(one.row for one in costs)])
    return "\n".join((*lines, "", table, "", *wanted))


def main() -> None:
    """Measure and print; renew the document if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long to watch")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--document", type=Path, help="Markdown file whose figures to renew")
    options = parser.parse_args()
    costs = measure(options.seconds)
    facts = machine()
    del facts["go"]
    facts["watched"] = f"{options.seconds:g} s, {GPUS} GPUs"
    written = figures(costs, facts)
    print(written)
    if options.document:
        renew(options.document, written)
    if options.json:
        result = {"machine": facts, "processes": [one.to_json() for one in costs]}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
