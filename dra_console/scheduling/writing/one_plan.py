"""One plan on its way to the API server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing import refusals
from dra_console.scheduling.writing.binding import PodChangedError, bind, disown, unbound
from dra_console.scheduling.writing.binding_conditions import (
    NotPrepared,
    Preparing,
    has_binding_conditions,
    preparation_of,
)
from dra_console.scheduling.writing.claim_changes import ClaimChangedError
from dra_console.scheduling.writing.claim_status import (
    consumers_of,
    is_reserved_for,
    uid_of,
    with_allocation,
)
from dra_console.scheduling.writing.claim_writes import (
    TooManyConsumersError,
    allocate,
    check_room,
    confirm,
    protect,
    reserve,
)
from dra_console.scheduling.writing.outcomes import (
    Dropped,
    Failed,
    Refused,
    Waiting,
    WriteOutcome,
    Written,
)
from dra_console.scheduling.writing.plan import Plan, PodToBind
from dra_console.scheduling.writing.sending import UndecidedError, Writer
from dra_console.scheduling.writing.taking_back import free, unreserve

log = structlog.get_logger()


@dataclass(slots=True)
class PlanWriting:
    """What one plan has come to. `prepare`, note what `to_note` gives, then `write`."""

    writer: Writer
    plan: Plan
    now: datetime
    timeout: timedelta
    """How long devices may take to be prepared, counted from the allocation."""

    outcome: WriteOutcome | None = None
    """None: it goes on."""

    _claims: list[JsonObject] = field(init=False)
    """Claims of the plan as they are known to be."""

    _knows_time: bool = True
    _allocated: list[int] = field(default_factory=list)
    _reserved: list[int] = field(default_factory=list)
    """Which of them were allocated and reserved, or only reserved, here and now."""

    _doubtful: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the claims as they were planned with."""
        self._claims = [planned.raw for planned in self.plan.claims]

    def prepare(self) -> None:
        """Check the limits, and protect the claims that are to be allocated."""
        self._guarded(self._prepare)

    def to_note(self) -> Iterator[JsonObject]:
        """Give the claims as they will be sent."""
        for claim, planned in zip(self._claims, self.plan.claims, strict=True):
            if planned.allocation is not None:
                yield with_allocation(
                    claim,
                    planned.allocation,
                    pod=self.plan.pod,
                    at=self._time_for(planned.allocation),
                )

    def refused(self) -> Iterator[str]:
        """Give the UIDs of claims whose noted allocation does not stand and never will."""
        for index, planned in enumerate(self.plan.claims):
            uid = uid_of(planned.raw)
            stands = index in self._allocated or uid in self._doubtful
            if planned.allocation is not None and not stands:
                yield uid

    def allocated(self) -> Iterator[JsonObject]:
        """Give the claims whose noted allocation stands, as the API server has them."""
        for index in self._allocated:
            yield self._claims[index]

    def write(self) -> None:
        """Allocate, reserve, wait where that is needed, and bind."""
        self._guarded(self._write)

    def _prepare(self) -> None:
        pod = self.plan.pod
        if pod is not None:
            for claim in self._claims:
                check_room(claim, pod)
        # Servers before 1.34, which speak no v1, know no time of allocation.
        served = self.writer.client.session.versions.of(RESOURCE_CLAIMS)
        self._knows_time = served == RESOURCE_CLAIMS
        for index, planned in enumerate(self.plan.claims):
            if planned.allocation is not None:
                self._claims[index] = protect(self.writer, self._claims[index])

    def _write(self) -> None:
        pod = self.plan.pod
        for index, planned in enumerate(self.plan.claims):
            if planned.allocation is not None:
                self._allocate(index, planned.allocation)
            elif pod is not None and not is_reserved_for(self._claims[index], pod):
                self._claims[index] = reserve(self.writer, self._claims[index], pod)
                self._reserved.append(index)
        if pod is not None:
            match preparation_of(self._claims, now=self.now, timeout=self.timeout):
                case Preparing(reason, until):
                    self.outcome = Waiting(
                        tuple(self._claims),
                        reason,
                        until,
                        is_new=bool(self._allocated or self._reserved),
                    )
                    return
                case NotPrepared(claim, reason):
                    self._give_up(claim, pod, reason)
                    self.outcome = Dropped(reason, self._known(), gave_back=True)
                    return
            self._confirm(pod)
            bind(self.writer, pod)
        self.outcome = Written(tuple(self._claims))

    def _allocate(self, index: int, allocation: JsonObject) -> None:
        claim = self._claims[index]
        try:
            stored = allocate(
                self.writer,
                claim,
                allocation,
                pod=self.plan.pod,
                at=self._time_for(allocation),
            )
        except UndecidedError:
            self._doubtful.append(uid_of(claim))
            raise
        self._claims[index] = stored
        self._allocated.append(index)

    def _confirm(self, pod: PodToBind) -> None:
        for index, claim in enumerate(self._claims):
            if index not in self._allocated and index not in self._reserved:
                self._claims[index] = confirm(self.writer, claim, pod)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do a step, and turn what stops it into an outcome."""
        try:
            step()
        except TurnOverError as error:
            # The next holder of the lease goes on with what is written.
            self.outcome = Dropped(str(error), self._known())
        except ClaimChangedError as error:
            self._undo()
            changed = () if error.claim is None else (error.claim,)
            self.outcome = Dropped(str(error), (*self._known(), *changed))
        except PodChangedError as error:
            if not error.node_name:
                self._take_back()
            self.outcome = Dropped(str(error), self._known())
        except TooManyConsumersError as error:
            self._undo()
            self.outcome = Refused(str(error), self._known())
        except ApiError as error:
            reason = refusals.in_words(error)
            if refusals.is_final(error):
                self._undo()
                self.outcome = Refused(reason, self._known())
            else:
                self.outcome = Failed(
                    reason,
                    refusals.retry_after_seconds(error),
                    self._known(),
                    tuple(self._doubtful),
                )

    def _undo(self) -> None:
        """Take back what was written here, unless somebody has bound the pod meanwhile."""
        if not self._allocated and not self._reserved:
            return
        try:
            if self.plan.pod is not None and unbound(self.writer.client, self.plan.pod) is None:
                return
        except PodChangedError as error:
            if error.node_name:
                return
        except ApiError as error:
            log.warning("plan not undone", pod=str(self.plan.pod), reason=str(error))
            return
        self._take_back()

    def _take_back(self) -> None:
        """Free what was allocated here and unreserve what was reserved here, the last first."""
        pod_uid = self.plan.pod.uid if self.plan.pod is not None else ""
        try:
            while self._reserved:
                index = self._reserved[-1]
                claim = unreserve(self.writer, self._claims[index], pod_uid=pod_uid)
                self._claims[index] = claim
                self._reserved.pop()
            while self._allocated:
                index = self._allocated[-1]
                self._claims[index] = free(self.writer, self._claims[index])
                self._allocated.pop()
        except (ApiError, ClaimChangedError, TurnOverError) as error:
            # The next run meets a waiting pod with some of its claims allocated: it goes on
            # with them, or frees those that stand in the pod's way.
            log.warning("plan not undone", pod=str(self.plan.pod), reason=str(error))

    def _give_up(self, claim: JsonObject, pod: PodToBind, why: str) -> None:
        """Give back devices that were not prepared, so that others can be found."""
        if not disown(self.writer, pod, why):
            return
        index = next(index for index, each in enumerate(self._claims) if each is claim)
        is_shared = any(entry.get("uid") != pod.uid for entry in consumers_of(claim))
        if is_shared:
            self._claims[index] = unreserve(self.writer, claim, pod_uid=pod.uid)
        else:
            self._claims[index] = free(self.writer, claim)
        if index in self._allocated:
            self._allocated.remove(index)

    def _known(self) -> tuple[JsonObject, ...]:
        return tuple(
            claim
            for claim, planned in zip(self._claims, self.plan.claims, strict=True)
            if claim is not planned.raw and uid_of(claim) not in self._doubtful
        )

    def _time_for(self, allocation: JsonObject) -> datetime | None:
        is_written = self._knows_time or has_binding_conditions(allocation)
        return self.now if is_written else None
