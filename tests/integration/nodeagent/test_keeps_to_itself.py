"""What a whole agent changes on its node: its own directories, and nothing else (fault 51)."""

import json
from pathlib import Path

from tests.builders.objects import DRIVER
from tests.integration.nodeagent.conftest import AgentMaker
from tests.integration.nodeagent.rig import ApiServer, KubeletSide, uid_of

ELSEWHERE = ("/dev/null", "/proc/self/", "/dev/urandom")


def test_it_runs_no_program_and_writes_into_its_own_directories_alone(
    new_agent: AgentMaker, api_server: ApiServer, tmp_path: Path
) -> None:
    agent = new_agent("a100x2-mig", "--device-metadata", "--create-dev-char-links")
    agent.module = "tests.integration.nodeagent.audited"
    agent.is_preloaded = False
    agent.environment = {"AUDIT": str(tmp_path / "audit")}
    agent.start()
    agent.wait_until_it_serves()
    kubelet = KubeletSide(agent)
    claim = api_server.allocate("audited", "gpu-0-mig-1g5gb-19-3", node=agent.node)

    assert kubelet.prepare(claim)[uid_of(claim)].error == ""
    assert kubelet.unprepare(claim)[uid_of(claim)] == ""
    assert agent.stop() == 0

    seen = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    own = (
        agent.kubelet_root / "plugins_registry",
        agent.kubelet_root / "plugins" / DRIVER,
        agent.cdi_directory,
    )
    elsewhere = [
        (what, path)
        for what, path in seen
        if what != "runs"
        # `rmtree` names what it removes relative to a directory, after it has named that.
        and (Path(path).is_absolute() or what not in ("os.remove", "os.rmdir"))
        and not any(Path(path) == one or one in Path(path).parents for one in own)
        and not path.startswith(ELSEWHERE)
    ]
    assert [path for what, path in seen if what == "runs"] == []
    assert [one for one in elsewhere if not is_way_to(one[1], agent.kubelet_root)] == []
    assert any(path.endswith("checkpoint.json") for _, path in seen), "nothing was watched"


def is_way_to(path: str, root: Path) -> bool:
    """Whether it is the directory above the agent's own, which it makes if it is not there."""
    return Path(path) == root / "plugins"
