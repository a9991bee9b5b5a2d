"""`make demo` itself: it comes up, is named when in the way, leaves nothing, and resumes."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.e2e.demos import Demo, children_of, running_demo
from tests.programs import need
from tests.settings import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]


def test_kubectl_prints_what_the_demo_holds(demo: Demo) -> None:
    kubectl = need("kubectl")
    server = f"--server={demo.summary['api_server']}"
    kinds = "resourceclaims,resourceslices,deviceclasses,pods"

    printed = subprocess.run(
        [kubectl, server, "get", kinds, "-A"], capture_output=True, text=True, check=True
    ).stdout

    assert "deviceclass.resource.k8s.io/gpu.nvidia.com" in printed
    assert printed.count("resourceslice.resource.k8s.io/") >= 6


def test_summary_names_url_and_accounts(demo: Demo) -> None:
    assert demo.summary["url"].startswith("http://127.0.0.1:")
    assert set(demo.summary["users"]) == {"admin", "researcher"}
    assert all(user["password"] and user["token"] for user in demo.summary["users"].values())


def test_ctrl_c_leaves_nothing_behind_and_a_second_run_resumes_on_another_port_if_it_must(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".demo"
    port = free_port()
    with running_demo(home, port=port) as first:
        processes = children_of(first.process.pid)
        accounts = first.summary["users"]
        database = first.layout.database.stat().st_ino

    assert len(processes) == 11
    assert first.process.returncode == 0
    assert not [pid for pid, _ in processes if Path(f"/proc/{pid}").exists()]
    assert not [path for path in home.rglob("*") if path.is_socket() or path.suffix == ".lock"]
    assert not (home / "demo.json").exists()

    with socket.socket() as occupant:
        occupant.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        occupant.bind(("127.0.0.1", port))
        occupant.listen()
        with running_demo(home, port=port) as second:
            named = [
                line for line in second.output().splitlines() if f"port {port} is taken" in line
            ]

    assert second.summary["users"] == accounts
    assert second.layout.database.stat().st_ino == database
    assert len(named) == 1
    assert str(port) not in second.url
