"""What Prometheus is told: each metric is documented, and claims count by what became of them."""

import re
from pathlib import Path

import prometheus_client

import nodeagent.__main__
from nodeagent.claims.reading import ClaimReference
from tests.builders.agents import AgentNode, a_claim_of_pod, reference_to

ROOT = Path(__file__).parents[3]
METRIC = re.compile(r"\bdra_nodeagent(?:_[a-z]+)+\b")


def test_every_metric_of_the_agent_is_documented_and_no_other() -> None:
    assert nodeagent.__main__.RUN, "imported so that every room has made its metrics"
    exposed = prometheus_client.generate_latest().decode()
    told = set(re.findall(r"^# TYPE (dra_nodeagent\w+) ", exposed, re.MULTILINE))
    made = {name for name in told if not name.endswith("_created")}
    text = (ROOT / "docs/node-agent.md").read_text()

    assert set(METRIC.findall(text)) == made


def counted(verb: str, outcome: str) -> float:
    labels = {"verb": verb, "outcome": outcome}
    registry = prometheus_client.REGISTRY
    return registry.get_sample_value("dra_nodeagent_claim_seconds_count", labels) or 0.0


def test_each_claim_of_a_call_counts_by_its_own_outcome(tmp_path: Path) -> None:
    node = AgentNode(tmp_path)
    claim = a_claim_of_pod(name="train")
    node.claims.put(claim)
    before = [counted("prepare", "done"), counted("prepare", "refused")]

    node.preparer.prepare(
        [reference_to(claim), ClaimReference("team-research", "nobody", "uid-nobody")]
    )

    after = [counted("prepare", "done"), counted("prepare", "refused")]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1]


def test_a_claim_that_is_undone_counts_as_done(tmp_path: Path) -> None:
    node = AgentNode(tmp_path)
    claim = a_claim_of_pod(name="train")
    node.claims.put(claim)
    node.preparer.prepare([reference_to(claim)])
    before = counted("unprepare", "done")

    node.preparer.unprepare([reference_to(claim)])

    assert counted("unprepare", "done") - before == 1
