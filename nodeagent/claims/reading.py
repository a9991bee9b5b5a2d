"""Reading a claim live from the API server before anything is done for it.

A cached copy could show an allocation that was withdrawn, so each prepare asks; several claims
are read in parallel and before any lock is taken (node-agent.md 2.2).
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from nodeagent.cdi.store import CLAIM_UID
from nodeagent.claims.allocation import AllocatedClaim, decode_claim
from nodeagent.claims.prepare import Refusal
from nodeagent.fields import FieldError, JsonObject
from nodeagent.kube.errors import KubeError, NotFoundError, NotServedError

READ_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A claim as kubelet names it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The API server did not say anything about the claim."""

    reason: str


Read: TypeAlias = AllocatedClaim | Unavailable | Refusal


class ClaimReader(Protocol):
    """Reads claims live; `nodeagent.kube.resources.Resources` is one."""

    def claim(self, namespace: str, name: str) -> JsonObject:
        """Return a ResourceClaim.

        Raises:
            NotFoundError: there is none of that name.
            KubeError: no answer.

        """
        ...


def read_claims(
    reader: ClaimReader, references: Iterable[ClaimReference], *, pool: ThreadPoolExecutor
) -> list[Read]:
    """Read claims in parallel and in time; the answers are in the order of the references."""
    began = time.monotonic()
    reads = [pool.submit(read_claim, reader, reference) for reference in references]
    return [_in_time(read, deadline=began + READ_SECONDS) for read in reads]


def read_claim(reader: ClaimReader, reference: ClaimReference) -> Read:
    """Read one claim and make sure that it is the one that kubelet means and may be prepared."""
    label = f"claim {reference.namespace}/{reference.name}"
    if not CLAIM_UID.fullmatch(reference.uid):
        return Refusal(f"{label}: {reference.uid!r} is no UID")
    try:
        claim = decode_claim(reader.claim(reference.namespace, reference.name))
    except NotServedError as error:
        return Unavailable(f"{label} could not be read: {error}")
    except NotFoundError:
        return Refusal(f"{label} (UID {reference.uid}) does not exist")
    except KubeError as error:
        return Unavailable(f"{label} could not be read: {error}")
    except FieldError as error:
        return Refusal(f"{label}: {error}")
    return _checked(claim, reference, label=label)


def _in_time(read: "Future[Read]", *, deadline: float) -> Read:
    try:
        return read.result(max(0.0, deadline - time.monotonic()))
    except LateError:
        read.cancel()
        return Unavailable(f"the claim could not be read within {READ_SECONDS} s")


def _checked(claim: AllocatedClaim, reference: ClaimReference, *, label: str) -> Read:
    if claim.uid != reference.uid:
        return Refusal(f"{label} was replaced: asked for UID {reference.uid}, have {claim.uid}")
    if not claim.is_reserved:
        return Refusal(f"{label} is not reserved for any pod")
    return claim
