"""How far one plan has come, and how what it has written is taken back."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing.claim_changes import ClaimChangedError
from dra_console.scheduling.writing.claim_status import uid_of
from dra_console.scheduling.writing.plan import Plan
from dra_console.scheduling.writing.sending import Writer
from dra_console.scheduling.writing.taking_back import free, unreserve

log = structlog.get_logger()


@dataclass(slots=True)
class Progress:
    """The claims of a plan as they are known to be, and what was written of them here and now."""

    plan: Plan
    claims: list[JsonObject] = field(init=False)
    allocated: list[int] = field(default_factory=list)
    """Which of the claims were allocated, and reserved where the plan has a pod."""

    reserved: list[int] = field(default_factory=list)
    """Which of them were reserved alone."""

    doubtful: list[str] = field(default_factory=list)
    """UIDs of those of which nobody knows whether they were allocated."""

    def __post_init__(self) -> None:
        """Begin with the claims as they were planned with."""
        self.claims = [planned.raw for planned in self.plan.claims]

    def known(self) -> tuple[JsonObject, ...]:
        """Return the claims that are known to be another than was planned with."""
        return tuple(
            claim
            for claim, planned in zip(self.claims, self.plan.claims, strict=True)
            if claim is not planned.raw and uid_of(claim) not in self.doubtful
        )

    def refused(self) -> Iterator[str]:
        """Give the UIDs of claims whose noted allocation does not stand and never will."""
        for index, planned in enumerate(self.plan.claims):
            uid = uid_of(planned.raw)
            stands = index in self.allocated or uid in self.doubtful
            if planned.allocation is not None and not stands:
                yield uid

    def newly_allocated(self) -> Iterator[JsonObject]:
        """Give the claims whose noted allocation stands, as the API server has them."""
        for index in self.allocated:
            yield self.claims[index]

    def take_back(self, writer: Writer) -> None:
        """Free what was allocated here and unreserve what was reserved here, the last first."""
        pod_uid = self.plan.pod.uid if self.plan.pod is not None else ""
        try:
            while self.reserved:
                index = self.reserved[-1]
                self.claims[index] = unreserve(writer, self.claims[index], pod_uid=pod_uid)
                self.reserved.pop()
            while self.allocated:
                index = self.allocated[-1]
                self.claims[index] = free(writer, self.claims[index])
                self.allocated.pop()
        except (ApiError, ClaimChangedError, TurnOverError) as error:
            # The next run meets a waiting pod with some of its claims allocated: it goes on
            # with them, or frees those that stand in the pod's way.
            log.warning("plan not undone", pod=str(self.plan.pod), reason=str(error))
