"""One try for everybody who waits, explained once for all who ask for the same.

Many pods of one job ask for the same thing and wait for the same reason. They are grouped by
signature, the first of a group is explained with stand-ins for its claims' names, and the
explanation is attached to each.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dra_console.allocator.explanation.explain import (
    NOBODY_LEFT_OUT,
    ExplainedOutcome,
    Explanation,
    explain,
)
from dra_console.allocator.model import Snapshot
from dra_console.scheduling.attempts.bodies import Body, body_of
from dra_console.scheduling.attempts.subjects import Subject, signature_of
from dra_console.scheduling.models import Outcome
from dra_console.scheduling.models.stand_ins import NAMESPACE, named, stand_in

DIGITS: Final = re.compile(r"\d+")

NodeReasons: TypeAlias = Callable[[Subject], Mapping[str, str]]
"""Says of nodes, by name, why the subject's pod cannot run there whatever devices they have."""


@dataclass(frozen=True, slots=True)
class Try:
    """What was tried for one subject, and what came of it."""

    subject: Subject
    signature: str
    outcome: Outcome
    headline: str
    node_name: str
    steps: int
    body: Body
    """Shared by all of the signature."""

    @property
    def digest(self) -> str:
        """Equal for tries that say the same: outcome, node, and sentence but for its numbers.

        How many devices are free changes by the second; why none of them helps does not.
        """
        said = (self.outcome.value, DIGITS.sub("#", self.headline), self.node_name)
        return hashlib.sha256("\0".join(said).encode()).hexdigest()


def tries_of(
    snapshot: Snapshot,
    subjects: Iterable[Subject],
    *,
    node_reasons: NodeReasons = lambda _: NOBODY_LEFT_OUT,
) -> Iterator[Try]:
    """Explain what waits, each signature once; a pod that has all its devices yields nothing.

    `node_reasons` is asked once for each signature.
    """
    for signature, alike in grouped(subjects).items():
        yield from tries_alike(snapshot, signature, alike, left_out=node_reasons(alike[0]))


def grouped(subjects: Iterable[Subject]) -> dict[str, list[Subject]]:
    """Group what waits by its signature; a pod that has all its devices is left out."""
    groups: dict[str, list[Subject]] = {}
    for subject in subjects:
        if subject.pending or subject.hindrance:
            groups.setdefault(signature_of(subject), []).append(subject)
    return groups


def tries_alike(
    snapshot: Snapshot,
    signature: str,
    alike: Iterable[Subject],
    *,
    left_out: Mapping[str, str] = NOBODY_LEFT_OUT,
) -> Iterator[Try]:
    """Explain the first of subjects that ask alike, and say the same of each."""
    subjects = list(alike)
    explanation = _explain(snapshot, subjects[0], left_out)
    outcome = _outcome(subjects[0], explanation)
    body = body_of(explanation, outcome=outcome.value)
    for subject in subjects:
        yield _try(subject, signature, explanation, outcome, body)


def _explain(snapshot: Snapshot, subject: Subject, left_out: Mapping[str, str]) -> Explanation:
    if not subject.pending:
        return _hindered(subject, None)
    claims = [
        replace(claim, namespace=NAMESPACE, name=stand_in(position))
        if claim.allocation is None
        else claim
        for position, claim in enumerate(subject.claims)
    ]
    return _hindered(subject, explain(snapshot, claims, left_out=left_out))


def _hindered(subject: Subject, explanation: Explanation | None) -> Explanation:
    """Put what hinders before what devices there would be."""
    if explanation is None:
        explanation = Explanation(
            ExplainedOutcome.DOES_NOT_FIT, headline="", detail="", node=None, groups=()
        )
    if not subject.hindrance:
        return explanation
    headline = f"{subject.hindrance[0].upper()}{subject.hindrance[1:]}."
    others = f"Its other claims: {explanation.headline}" if explanation.headline else ""
    return replace(explanation, headline=headline, detail=others)


def _outcome(subject: Subject, explanation: Explanation) -> Outcome:
    return Outcome.WAITS if subject.hindrance else Outcome(explanation.outcome.value)


def _try(
    subject: Subject, signature: str, explanation: Explanation, outcome: Outcome, body: Body
) -> Try:
    headline = named(
        explanation.headline, namespace=subject.namespace, claim_names=subject.claim_names
    )
    return Try(
        subject=subject,
        signature=signature,
        outcome=outcome,
        headline=headline,
        node_name="" if subject.hindrance else explanation.node or "",
        steps=explanation.steps,
        body=body,
    )
