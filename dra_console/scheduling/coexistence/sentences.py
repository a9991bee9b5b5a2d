"""What is said of each kind of finding: what it is, more about it, and what to do."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dra_console.scheduling.coexistence.findings import FindingKind
from dra_console.scheduling.coexistence.naming import NAMED_IN_A_SENTENCE, Named, counted, listed


class Said(NamedTuple):
    """Three sentences; the second may be empty."""

    headline: str
    detail: str
    todo: str


def _double_booking(named: Named) -> Said:
    if "one_claim" in named.facts:
        return Said(
            f"{named.claim} has {named.device} twice",
            "Two of its requests were answered with one device.",
            "Delete the claim's pods and let it be allocated again.",
        )
    return Said(
        f"{named.device} is given to {named.everyone}",
        "A device without shares is for one claim at a time. No API server refuses this.",
        "Decide which claim keeps it, delete the pods of the others, and see who allocates"
        " beside whom.",
    )


def _overdrawn_capacity(named: Named) -> Said:
    facts = named.facts
    return Said(
        f"{named.device} has {facts['published']} of {facts['capacity']}, and"
        f" {facts['taken']} are given away",
        f"Shared by {named.everyone}.",
        "Delete the pods of enough shares, or let the driver publish what the device has.",
    )


def _overdrawn_counters(named: Named) -> Said:
    facts = named.facts
    return Said(
        f"Overlapping partitions of {named.pool} are held at once",
        f"{named.everyone} draw more of {facts['counter_set']} than it has: {facts['amounts']}.",
        "Decide which claims keep their partitions, and delete the pods of the others.",
    )


def _no_execute(named: Named) -> Said:
    facts = named.facts
    consumers = int(facts["consumers"])
    pods = counted(facts["consumers"], "pod")
    if "tolerated" in facts:
        return Said(
            f"{named.claim} keeps {named.device} in spite of {facts['taint']}",
            f"The claim tolerates the taint {facts['tolerated']}.",
            "Nothing, unless the device has to be emptied now: then delete the pods.",
        )
    if not consumers:
        return Said(
            f"{named.claim} holds {named.device}, which has taint {facts['taint']}",
            "No pod has reserved the claim, so there is none to evict, and the device stays held.",
            "Delete the claim if nobody needs it.",
        )
    return Said(
        f"{named.claim} holds {named.device}, which has taint {facts['taint']}",
        f"The claim does not tolerate it, so kube-controller-manager evicts its {pods}.",
        "Wait for the eviction; where none comes, delete the pods yourself.",
    )


def _vanished(named: Named) -> Said:
    facts = named.facts
    number = counted(facts["devices"], "device")
    are = "is" if facts["devices"] == "1" else "are"
    if "whole_pool" in facts:
        headline = f"Pool {named.pool} is gone; {number} of it {are} held by {named.everyone}"
    elif named.device:
        headline = f"{named.device} is not published any more, and held by {named.everyone}"
    else:
        headline = f"{number} of {named.pool} {are} published no more, and held by {named.everyone}"
    if node := facts.get("missing_node", ""):
        detail = f"Node {node} is not in the cluster."
    elif "generation" in facts:
        detail = f"The newest generation of {named.pool} is {facts['generation']}."
    else:
        detail = ""
    return Said(
        headline,
        detail,
        "See whether the driver on that node runs; if the device is gone for good, delete the"
        " pods that wait for it.",
    )


def _incomplete(named: Named) -> Said:
    facts = named.facts
    return Said(
        f"Pool {named.pool} shows {facts['seen']} of {facts['expected']} slices",
        f"{named.everyone} hold devices of it; nothing is allocated from it meanwhile.",
        "See why the driver does not publish the rest of the pool.",
    )


BLOCKERS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "unknown-consumer": (
            "It is reserved for {pods}.",
            "Remove that consumer; no controller here can tell when it has ended.",
        ),
        "lost-node": (
            "It waits for {pods}.",
            (
                "If the node is off for good, delete the pod with --force; no kubelet says that it"
                " has ended."
            ),
        ),
        "leaving-pod": (
            "It waits for {pods}.",
            "See why the node's kubelet or driver does not end the pod.",
        ),
        "pod": ("It waits for {pods}.", "Delete the pods, or wait until they have ended."),
        "no-controller": (
            (
                "Nobody uses it any more, and its finalizer"
                " resource.kubernetes.io/delete-protection stays."
            ),
            "See whether kube-controller-manager runs; where none does, release the claim here.",
        ),
        "finalizer": (
            "It waits for {finalizers}.",
            "Ask the owner of the finalizer to remove it; do not remove it by hand.",
        ),
    }
)


def _stuck(named: Named) -> Said:
    detail, todo = BLOCKERS[named.facts["blocker"]]
    pods = listed([f"{pod.name} ({pod.note})" for pod in named.pods])
    finalizers = named.facts.get("finalizers", "")
    words = detail.format(pods=pods or "pods", finalizers=f"finalizer {finalizers}")
    if finalizers and "{finalizers}" not in detail:
        words += f" After that it waits for finalizer {finalizers}."
    held = int(named.facts["devices"])
    return Said(
        f"{named.claim} was deleted and is still there"
        + (f", with {counted(str(held), 'device')}" if held else ""),
        words,
        todo,
    )


def _stale(named: Named) -> Said:
    facts = named.facts
    pods = listed([f"{pod.name} ({pod.note})" for pod in named.pods[:NAMED_IN_A_SENTENCE]])
    rest = int(facts["consumers"]) - int(facts["done"])
    return Said(
        f"{named.claim} is reserved for {counted(facts['done'], 'pod')} that will not use it",
        f"{pods}."
        + (f" {counted(str(rest), 'other consumer')} still may." if rest else "")
        + " kube-controller-manager takes such reservations back within seconds.",
        "See whether kube-controller-manager runs"
        + ("." if rest else "; where none does, release the claim here."),
    )


def _unreserved(named: Named) -> Said:
    devices = counted(named.facts["devices"], "device")
    if "reserve_ahead" in named.facts:
        return Said(
            f"{named.claim} was allocated ahead and no pod uses its {devices}",
            "It is labelled for that, and keeps them until it is deleted.",
            "Delete the claim once nobody waits for it.",
        )
    return Said(
        f"{named.claim} holds {devices} for nobody",
        "It was allocated, and no pod has it reserved. No controller takes that back.",
        "Start the pod that it was for, delete the claim, or release its devices.",
    )


def _foreign(named: Named) -> Said:
    marked = named.facts.get("marked_at", "")
    return Said(
        f"{named.facts['scheduler']} gave managed device {named.device} to {named.claim}",
        "Devices with taint dra-console.io/managed are for the console alone"
        + (f"; it is marked since {marked}." if marked else "."),
        "If it was held before it was marked, wait until its pods end; else take the toleration"
        " of that taint out of the request.",
    )


def _no_match(named: Named) -> Said:
    devices = int(named.facts["devices"])
    return Said(
        f"{named.claim} holds {named.device}, which is not what it asks for any more",
        f"{named.facts['reason'][:1].upper()}{named.facts['reason'][1:]}."
        + (f" So with {devices - 1} more of its devices." if devices > 1 else ""),
        "Nothing: an allocation stays valid. A new claim would get something else, or wait.",
    )


BY_KIND: Final[Mapping[FindingKind, Callable[[Named], Said]]] = MappingProxyType(
    {
        FindingKind.DOUBLE_BOOKING: _double_booking,
        FindingKind.OVERDRAWN_CAPACITY: _overdrawn_capacity,
        FindingKind.OVERDRAWN_COUNTERS: _overdrawn_counters,
        FindingKind.NO_EXECUTE: _no_execute,
        FindingKind.VANISHED_DEVICE: _vanished,
        FindingKind.INCOMPLETE_POOL: _incomplete,
        FindingKind.STUCK_DELETION: _stuck,
        FindingKind.STALE_RESERVATION: _stale,
        FindingKind.UNRESERVED: _unreserved,
        FindingKind.FOREIGN: _foreign,
        FindingKind.NO_MATCH: _no_match,
    }
)
