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
from dra_console.scheduling.writing.progress import Progress
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

    progress: Progress = field(init=False)
    _knows_time: bool = True

    def __post_init__(self) -> None:
        """Begin with the claims as they were planned with."""
        self.progress = Progress(self.plan)

    def prepare(self) -> None:
        """Check the limits, and protect the claims that are to be allocated."""
        self._guarded(self._prepare)

    def to_note(self) -> Iterator[JsonObject]:
        """Give the claims as they will be sent."""
        for claim, planned in zip(self.progress.claims, self.plan.claims, strict=True):
            if planned.allocation is not None:
                yield with_allocation(
                    claim,
                    planned.allocation,
                    pod=self.plan.pod,
                    at=self._time_for(planned.allocation),
                )

    def write(self) -> None:
        """Allocate, reserve, wait where that is needed, and bind."""
        self._guarded(self._write)

    def _prepare(self) -> None:
        pod = self.plan.pod
        if pod is not None:
            for claim in self.progress.claims:
                check_room(claim, pod)
        # Servers before 1.34, which speak no v1, know no time of allocation.
        served = self.writer.client.session.versions.of(RESOURCE_CLAIMS)
        self._knows_time = served == RESOURCE_CLAIMS
        for index, planned in enumerate(self.plan.claims):
            if planned.allocation is not None:
                self.progress.claims[index] = protect(self.writer, self.progress.claims[index])

    def _write(self) -> None:
        pod = self.plan.pod
        for index, planned in enumerate(self.plan.claims):
            if planned.allocation is not None:
                self._allocate(index, planned.allocation)
            elif pod is not None and not is_reserved_for(self.progress.claims[index], pod):
                self.progress.claims[index] = reserve(self.writer, self.progress.claims[index], pod)
                self.progress.reserved.append(index)
        if pod is not None:
            match preparation_of(self.progress.claims, now=self.now, timeout=self.timeout):
                case Preparing(reason, until):
                    self.outcome = Waiting(
                        tuple(self.progress.claims),
                        reason,
                        until,
                        is_new=bool(self.progress.allocated or self.progress.reserved),
                    )
                    return
                case NotPrepared(claim, reason):
                    self._give_up(claim, pod, reason)
                    self.outcome = Dropped(reason, self.progress.known(), gave_back=True)
                    return
            self._confirm(pod)
            bind(self.writer, pod)
        self.outcome = Written(tuple(self.progress.claims))

    def _allocate(self, index: int, allocation: JsonObject) -> None:
        claim = self.progress.claims[index]
        try:
            stored = allocate(
                self.writer,
                claim,
                allocation,
                pod=self.plan.pod,
                at=self._time_for(allocation),
            )
        except UndecidedError:
            self.progress.doubtful.append(uid_of(claim))
            raise
        self.progress.claims[index] = stored
        self.progress.allocated.append(index)

    def _confirm(self, pod: PodToBind) -> None:
        for index, claim in enumerate(self.progress.claims):
            if index not in self.progress.allocated and index not in self.progress.reserved:
                self.progress.claims[index] = confirm(self.writer, claim, pod)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do a step, and turn what stops it into an outcome."""
        try:
            step()
        except TurnOverError as error:
            # The next holder of the lease goes on with what is written.
            self.outcome = Dropped(str(error), self.progress.known())
        except ClaimChangedError as error:
            self._undo()
            changed = () if error.claim is None else (error.claim,)
            self.outcome = Dropped(str(error), (*self.progress.known(), *changed))
        except PodChangedError as error:
            if not error.node_name:
                self.progress.take_back(self.writer)
            self.outcome = Dropped(str(error), self.progress.known())
        except TooManyConsumersError as error:
            self._undo()
            self.outcome = Refused(str(error), self.progress.known())
        except ApiError as error:
            reason = refusals.in_words(error)
            if refusals.is_final(error):
                self._undo()
                self.outcome = Refused(reason, self.progress.known())
            else:
                self.outcome = Failed(
                    reason,
                    refusals.retry_after_seconds(error),
                    self.progress.known(),
                    tuple(self.progress.doubtful),
                )

    def _undo(self) -> None:
        """Take back what was written here, unless somebody has bound the pod meanwhile."""
        if not self.progress.allocated and not self.progress.reserved:
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
        self.progress.take_back(self.writer)

    def _give_up(self, claim: JsonObject, pod: PodToBind, why: str) -> None:
        """Give back devices that were not prepared, so that others can be found."""
        if not disown(self.writer, pod, why):
            return
        index = next(index for index, each in enumerate(self.progress.claims) if each is claim)
        is_shared = any(entry.get("uid") != pod.uid for entry in consumers_of(claim))
        if is_shared:
            self.progress.claims[index] = unreserve(self.writer, claim, pod_uid=pod.uid)
        else:
            self.progress.claims[index] = free(self.writer, claim)
        if index in self.progress.allocated:
            self.progress.allocated.remove(index)

    def _time_for(self, allocation: JsonObject) -> datetime | None:
        is_written = self._knows_time or has_binding_conditions(allocation)
        return self.now if is_written else None
