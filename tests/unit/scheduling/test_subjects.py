"""Who waits, as what, and who waits alike."""

from dataclasses import dataclass, field, replace
from typing import Any

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.scheduling.attempts.subjects import (
    Named,
    Subject,
    signature_of,
    subjects_of,
)
from dra_console.scheduling.attempts.tries import Try, tries_of
from dra_console.scheduling.models import Outcome
from dra_console.scheduling.models.stand_ins import with_names
from dra_console.sync.columns import claim_names_of
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)

NO_TEMPLATES: frozenset[Named] = frozenset()


@dataclass
class PodRow:
    raw: JsonObject
    uid: str = ""
    namespace: str = ""
    name: str = ""
    claim_names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        metadata: Any = self.raw["metadata"]
        self.uid, self.name = metadata["uid"], metadata["name"]
        self.namespace = metadata["namespace"]
        self.claim_names = dict(claim_names_of(self.raw))


def of(
    pods: list[JsonObject], claims: list[JsonObject], templates: frozenset[Named] = NO_TEMPLATES
) -> list[Subject]:
    decoded = [decode_claim(claim) for claim in claims]
    return list(subjects_of(map(PodRow, pods), decoded, templates=templates))


def a_pod_of_two(first: str, second: str, name: str = "train") -> JsonObject:
    pod: Any = a_pod(name, claim=first)
    pod["spec"]["resourceClaims"].append({"name": "other", "resourceClaimName": second})
    made: JsonObject = pod
    return made


def test_a_pod_waits_with_all_its_claims_and_none_of_them_waits_once_more() -> None:
    claims = [a_claim("first"), a_claim("second"), a_claim("alone")]

    found = of([a_pod_of_two("first", "second")], claims)

    assert [(each.pod_name, each.claim_names) for each in found] == [
        ("train", ["first", "second"]),
        ("", ["alone"]),
    ]


def test_a_pod_whose_claim_is_not_made_yet_waits_and_says_for_what() -> None:
    pods = [a_pod("missing", claim="gone"), a_pod("made-from", template="one-gpu")]

    without, with_template = (
        [each.hindrance for each in of(pods, [], templates)]
        for templates in (NO_TEMPLATES, frozenset({Named(NAMESPACE, "one-gpu")}))
    )

    assert without == ["there is no claim gone", "there is no ResourceClaimTemplate one-gpu"]
    assert with_template == ["there is no claim gone", "the claim for gpu is not made yet"]


def test_a_claim_that_cannot_be_read_is_not_said_to_be_missing() -> None:
    found = subjects_of(
        [PodRow(a_pod(claim="odd"))],
        [],
        templates=NO_TEMPLATES,
        unreadable=frozenset({Named(NAMESPACE, "odd")}),
    )

    assert [each.hindrance for each in found] == ["claim odd cannot be read"]


def test_a_pod_with_gates_or_with_a_claim_being_deleted_is_held_back() -> None:
    pod: Any = a_pod(claim="train")
    pod["spec"]["schedulingGates"] = [{"name": "quota"}]
    claim = replace(decode_claim(a_claim("train")), is_deleting=True)

    [found] = subjects_of([PodRow(pod)], [claim], templates=NO_TEMPLATES)

    assert found.hindrance == (
        "claim train is being deleted; the pod is held back by its scheduling gates: quota"
    )


def test_a_claim_that_turned_out_not_to_be_needed_holds_nobody_back() -> None:
    pod: Any = a_pod(template="one-gpu")
    pod["status"] = {"resourceClaimStatuses": [{"name": "gpu"}]}

    assert of([pod], []) == []


def test_who_asks_for_the_same_has_the_same_signature_whatever_the_names() -> None:
    alike = [
        Subject(namespace, (decode_claim(a_claim(name, namespace=namespace)),))
        for namespace, name in (("team-a", "one"), ("team-b", "two"))
    ]
    other = Subject("team-a", (decode_claim(a_claim(requests=[a_request(count=2)])),))
    elsewhere = replace(alike[0], pod_spec={"nodeSelector": {"zone": "a"}})

    assert len({signature_of(each) for each in alike}) == 1
    assert len({signature_of(each) for each in (alike[0], other, elsewhere)}) == 3


def tries_for(pods: list[JsonObject], claims: list[JsonObject]) -> list[Try]:
    snapshot = decode_snapshot([a_node(), a_class(), a_slice(), *claims])
    return list(tries_of(snapshot, of(pods, claims)))


def read_by_its_owner(one: Try) -> str:
    return str(
        with_names(one.body.shaped, namespace=NAMESPACE, claim_names=one.subject.claim_names)
    )


def test_who_waits_alike_is_explained_once_and_each_reads_their_own_names() -> None:
    requests = [a_request(count=3)]
    claims = [a_claim(name, requests=requests) for name in ("a", "b", "c", "d", "e", "f")]
    pods = [a_pod_of_two("a", "b", "first"), a_pod_of_two("c", "d", "second")]

    first, second, alone, beside = tries_for(pods, claims)

    assert first.body is second.body
    assert alone.body is beside.body
    assert first.headline.startswith("Request gpu of a: ")
    assert second.headline.startswith("Request gpu of c: ")
    assert f"{NAMESPACE}/f" in read_by_its_owner(beside)
    assert f"{NAMESPACE}/e" not in read_by_its_owner(beside)
    assert "\ue000" not in read_by_its_owner(second) + read_by_its_owner(alone)


def test_node_reasons_are_asked_once_for_all_who_wait_alike() -> None:
    claims = [a_claim(f"claim-{number}") for number in range(5)]
    asked: list[Subject] = []

    def reasons(subject: Subject) -> dict[str, str]:
        asked.append(subject)
        return {"gpu-01": "the node is cordoned"}

    snapshot = decode_snapshot([a_node(), a_class(), a_slice(), *claims])
    tries = list(tries_of(snapshot, of([], claims), node_reasons=reasons))

    assert (len(asked), len(tries)) == (1, 5)
    assert {one.headline for one in tries} == {"No node may be used: the node is cordoned."}


def test_a_pod_that_is_held_back_still_says_what_its_claims_would_get() -> None:
    [one] = tries_for([a_pod_of_two("train", "gone")], [a_claim("train")])

    assert one.outcome is Outcome.WAITS
    assert one.headline == "There is no claim gone."
    assert str(one.body.shaped["detail"]).startswith("Its other claims: Fits on gpu-01")
    assert one.body.shaped["outcome"] == "waits"


def test_a_pod_that_has_all_its_devices_is_not_tried() -> None:
    held = an_allocated_claim("held", results=[a_result()])

    assert tries_for([a_pod(claim="held")], [held]) == []


def test_claims_of_a_pod_that_are_allocated_tell_it_apart_from_others() -> None:
    def subject(claim: ResourceClaim) -> Subject:
        return Subject(NAMESPACE, (claim, decode_claim(a_claim("wants"))), pod_uid="pod")

    held, other = (
        decode_claim(an_allocated_claim(name, results=[a_result()])) for name in ("one", "two")
    )

    assert signature_of(subject(held)) != signature_of(subject(other))
