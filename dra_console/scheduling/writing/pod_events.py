"""Says in Events what became of plans, pods and claims."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.scheduling.writing import remarks
from dra_console.scheduling.writing.outcomes import (
    Dropped,
    Refused,
    Waiting,
    WriteOutcome,
    Written,
)
from dra_console.scheduling.writing.plan import Plan
from dra_console.scheduling.writing.recorder import Recorder
from dra_console.scheduling.writing.remarks import Regarding, Remark


@lru_cache(maxsize=64)
def recorder_of(client: Client) -> Recorder:
    """Return the recorder that writes as `client`, the same for all who ask."""
    return Recorder(client)


def tell(client: Client, told: Iterable[tuple[Plan, WriteOutcome]]) -> None:
    """Say on pods and claims what became of the plans of a round; returns at once."""
    recorder = recorder_of(client)
    for plan, outcome in told:
        for remark in remarks_on(plan, outcome):
            recorder.say(remark)


def failed_scheduling(client: Client, pod: Regarding, message: str) -> None:
    """Say why the pod was not placed; returns at once."""
    recorder_of(client).say(remarks.failed_scheduling(pod, message))


def failed_allocation(client: Client, claim: JsonObject, message: str) -> None:
    """Say why a claim was not reserved ahead; returns at once."""
    recorder_of(client).say(remarks.failed_allocation(claim, message))


def remarks_on(plan: Plan, outcome: WriteOutcome) -> Iterator[Remark]:
    """Give what is worth saying of an outcome.

    Nothing of a plan that is simply made anew, and nothing while the API server fails: it
    would fail here, too.
    """
    if plan.pod is None:
        match outcome:
            case Written(claims):
                yield from map(remarks.reserved_ahead, claims)
            case Refused(reason):
                for planned in plan.claims:
                    yield remarks.failed_allocation(planned.raw, reason)
        return
    pod = remarks.pod_named(plan.pod.namespace, plan.pod.name, plan.pod.uid)
    match outcome:
        case Written():
            yield remarks.scheduled(pod, plan.pod.node_name)
        case Waiting(is_new=True):
            yield remarks.waits_for_devices(pod, plan.pod.node_name)
        case Refused(reason) | Dropped(reason, gave_back=True):
            yield remarks.failed_scheduling(pod, reason)
