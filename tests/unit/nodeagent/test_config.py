import re
from pathlib import Path

import pytest

from nodeagent.command_line import parser_of_agent
from nodeagent.config import parse
from nodeagent.devices.settings import MigPolicy

DOCUMENT = Path(__file__).parents[3] / "docs" / "node-agent.md"
MINIMAL = ["--node-name", "gpu-01"]


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_real_gpus_are_the_default() -> None:
    config = parse(MINIMAL)

    assert config.profile is None
    assert config.driver == "gpu.nvidia.com"
    assert config.registry_directory == Path("/var/lib/kubelet/plugins_registry")
    assert config.plugin_directory == Path("/var/lib/kubelet/plugins/gpu.nvidia.com")
    assert config.cdi_directory == Path("/var/run/cdi")
    assert config.console_url is None
    assert config.mig is MigPolicy.STATIC
    assert config.shares == 1
    assert config.pod_uid is None
    assert config.health_port < 0


def test_the_demos_command_line_is_understood() -> None:
    config = parse(
        [
            *("--node-name", "gpu-01"),
            *("--driver", "gpu.nvidia.com"),
            *("--profile", "h100x8"),
            *("--kubelet-root", ".demo/nodes/gpu-01"),
            *("--cdi-dir", ".demo/nodes/gpu-01/cdi"),
            *("--kubeconfig", ".demo/kubeconfig"),
            *("--console-url", "ws://127.0.0.1:8000/ws/v1/agents"),
            *("--console-token-file", ".demo/nodes/gpu-01/agent-token"),
            "--simulate",
        ]
    )

    assert config.profile == "h100x8"
    assert config.kubelet_root.is_absolute()
    assert config.cdi_directory.is_absolute()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--node-name"),
        ([*MINIMAL, "--simulate"], "--simulate needs --profile"),
        ([*MINIMAL, "--profile", "h100x8"], "--profile is for simulated GPUs: add --simulate"),
        ([*MINIMAL, "--simulate", "--profile", "h200"], "invalid choice: 'h200'"),
        ([*MINIMAL, "--driver", "GPU.nvidia.com"], "expected a DNS subdomain"),
        ([*MINIMAL, "--driver", "a" * 64], "of at most 63 characters"),
        ([*MINIMAL, "--console-url", "ws://x"], "--console-token-file go together"),
        ([*MINIMAL, "--telemetry-only"], "there is nobody else to tell"),
        ([*MINIMAL, "--ignored-xids", "31,x"], "expected numbers, got 'x'"),
        ([*MINIMAL, "--shares", "0"], "expected 1 to 128, got '0'"),
        ([*MINIMAL, "--shares", "half"], "expected 1 to 128, got 'half'"),
        ([*MINIMAL, "--pod-uid", "../x"], "expected a pod's metadata.uid, got '../x'"),
        ([*MINIMAL, "--health-port", "65536"], "expected a port up to 65535, got '65536'"),
        ([*MINIMAL, "--health-port", "http"], "expected a port up to 65535, got 'http'"),
        ([*MINIMAL, "--sim"], "unrecognized arguments: --sim"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(arguments, capsys)


def test_every_flag_is_documented() -> None:
    flags = {
        option
        for action in parser_of_agent()._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    documented = set(re.findall(r"^\| `(--[a-z-]+)", DOCUMENT.read_text(), re.MULTILINE))

    assert documented == flags
