"""What Prometheus is told: each metric is documented, and claims count by what became of them."""

import re
from datetime import UTC, datetime
from pathlib import Path

import prometheus_client

import nodeagent.__main__
from nodeagent.claims.reading import ClaimReference
from nodeagent.devices.details import Details
from nodeagent.devices.model import Reading
from nodeagent.telemetry.measures import DeviceMeasures
from nodeagent.telemetry.messages import Sample
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


def test_a_devices_measures_are_in_base_units_and_what_is_not_reported_has_no_series() -> None:
    measures = DeviceMeasures()
    registry = prometheus_client.CollectorRegistry()
    registry.register(measures)
    reading = Reading(
        device="gpu-0",
        uuid="GPU-0",
        utilisation_percent=50,
        power_milliwatts=412_500,
        sm_clock_megahertz=1980,
    )
    details = Details(
        device="gpu-0", energy_millijoules=2500, fan_percent=0, clock_limits=("power-cap",)
    )
    measures.show(Sample(datetime.now(UTC), (reading,), {"gpu-0": details}))

    def told(name: str, **labels: str) -> float | None:
        of_device = {"device": "gpu-0", "uuid": "GPU-0", **labels}
        return registry.get_sample_value(f"dra_nodeagent_device_{name}", of_device)

    assert told("utilisation_ratio") == 0.5
    assert told("power_watts") == 412.5
    assert told("sm_clock_hertz") == 1.98e9
    assert told("energy_joules_total") == 2.5
    assert told("fan_ratio") == 0
    assert told("clock_limit", reason="power-cap") == 1
    assert told("temperature_celsius") is None
    assert told("ecc_corrected_errors_total") is None
    measures.show(None)
    assert told("utilisation_ratio") is None


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
