"""One pod on its node, from the moment it is bound until it is gone.

The order is a kubelet's: claims are prepared before containers are created, and when the pod
ends, containers are stopped, then claims are taken back, and only then the API server hears
that the pod is over. Were the phase written first, the devices could be given to another
pod while the driver still holds them for this one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.cdi_directory import CdiDirectory, UnresolvableCdiDevicesError
from dra_console.devcluster.kubelet_claim_rules import PrepareError
from dra_console.devcluster.kubelet_claims import NodeClaims, UnprepareError
from dra_console.devcluster.kubelet_pod_writes import PodWrites, cdi_names
from dra_console.devcluster.kubelet_timings import Timings
from dra_console.devcluster.pod_end import deadline, ending
from dra_console.devcluster.pod_events import PodEvents
from dra_console.devcluster.pod_progress import progress
from dra_console.devcluster.pod_status import RUNNING, PodStatus, phase_of
from dra_console.devcluster.pods import FINISHED_PHASES, Container, Pod

log = structlog.get_logger()


class ContainerCreationError(Exception):
    """The runtime could not create a container; it is tried again."""


@dataclass(frozen=True, slots=True)
class NodeRuntime:
    """What the pods of one node share."""

    claims: NodeClaims
    cdi: CdiDirectory
    writes: PodWrites
    events: PodEvents
    timings: Timings
    now: Callable[[], datetime]


@dataclass(slots=True)
class PodWorker:
    """Brings one pod forward. `observe` tells it what the API server says of the pod."""

    runtime: NodeRuntime
    uid: str
    _pod: Pod | None = None
    _status: PodStatus | None = None
    _ending: PodStatus | None = None
    _is_prepared: bool = False
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def observe(self, stored: JsonObject | None) -> None:
        """Take the pod's present state; `None` = it is no longer there.

        Raises:
            DecodeError: the pod cannot be read.

        """
        pod = None if stored is None else Pod.read(stored)
        if stored is not None and pod is not None and self._status is None:
            self._status = PodStatus.read(stored, pod=pod, now=self.runtime.now())
        # The phase is this worker's own writing, and no reason to cut a back-off short.
        if pod is None or self._pod is None or replace(pod, phase=self._pod.phase) != self._pod:
            self._wake.set()
        self._pod = pod

    def wake(self) -> None:
        """Have the worker try again now, since a driver came or went."""
        self._wake.set()

    async def run(self) -> None:
        """Work until the pod and its claims are gone."""
        failures = 0
        while self._pod is not None or self.uid in self.runtime.claims.pod_uids:
            self._wake.clear()
            try:
                wait_seconds = await self._sync()
                failures = 0
            except (ContainerCreationError, PrepareError, UnprepareError) as error:
                failures += 1
                wait_seconds = self.runtime.timings.pod_back_off.seconds(failures)
                log.warning("pod sync failed", pod=self._name, error=str(error))
            except Exception:
                # The worker's entry point: one pod that cannot be handled must not end the node.
                failures += 1
                wait_seconds = self.runtime.timings.pod_back_off.seconds(failures)
                log.exception("pod sync crashed", pod=self._name)
            # Not `wait_for`: Python 3.11's forgets a cancellation that meets a wake-up.
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._wake.wait()

    @property
    def _name(self) -> str:
        return self.uid if self._pod is None else self._pod.key

    async def _sync(self) -> float | None:
        """Bring the pod forward; return the seconds until it needs another look."""
        pod, status = self._pod, self._status
        if pod is None or status is None or status.is_finished:
            await self._let_go(pod)
            if pod is not None and pod.is_deleting:
                self.runtime.writes.remove(pod)
            return None
        # Decided once: a pod whose claims are slow to go must not end for another reason then.
        self._ending = self._ending or ending(pod, status, now=self.runtime.now())
        if self._ending is None:
            return await self._go_on(pod, status=status)
        await self._end(pod, status=status, end=self._ending)
        return 0

    async def _end(self, pod: Pod, *, status: PodStatus, end: PodStatus) -> None:
        """Stop the containers, let go of the claims, and report the end, in this order."""
        writes, now = self.runtime.writes, self.runtime.now()
        if not status.is_stopped:
            self.runtime.events.note(pod, reason="Killing", message="Stopping containers")
        self._status = replace(end, phase=status.phase, reason="", message="")
        writes.status(pod, status=self._status, now=now)
        await self._let_go(pod)
        self._status = end
        writes.status(pod, status=end, now=now)

    async def _let_go(self, pod: Pod | None) -> None:
        try:
            await self.runtime.claims.unprepare(self.uid)
        except UnprepareError as error:
            if pod is not None:
                self.runtime.events.warn(
                    pod, reason="FailedKillPod", message=f"claims were not taken back: {error}"
                )
            raise

    async def _go_on(self, pod: Pod, *, status: PodStatus) -> float | None:
        """Prepare the claims and run the containers."""
        self.runtime.writes.status(pod, status=status, now=self.runtime.now())
        if not self._is_prepared:
            await self._prepare(pod, phase=status.phase)
            if self._pod is None or self._pod.is_deleting:
                return 0
        next_at = self._run_containers(pod, status=status)
        return None if next_at is None else max((next_at - self.runtime.now()).total_seconds(), 0)

    async def _prepare(self, pod: Pod, *, phase: str) -> None:
        claims = self.runtime.claims
        try:
            # A pod that runs was prepared before this kubelet started; nobody stopped it since.
            if not (phase == RUNNING and claims.has_devices_of(pod)):
                await claims.prepare(pod)
        except PrepareError as error:
            self.runtime.events.warn(
                pod,
                reason="FailedPrepareDynamicResources",
                message=f"Failed to prepare dynamic resources: {error}",
            )
            raise
        self._is_prepared = True
        self.runtime.writes.cdi_names(pod)

    def _run_containers(self, pod: Pod, *, status: PodStatus) -> datetime | None:
        """Bring the containers to where they should be; return when to look again.

        Raises:
            ContainerCreationError: a container could not be created.

        """
        back_off = self.runtime.timings.restart_back_off
        failures: list[str] = []
        step = progress(pod, status, now=self.runtime.now(), back_off=back_off)
        while step.startable and not failures:
            status = step.status
            for container in step.startable:
                status, failure = self._create(container, pod=pod, status=status)
                failures += [failure] if failure else []
            step = progress(pod, status, now=self.runtime.now(), back_off=back_off)
        phase = phase_of(pod, step.status)
        is_over = phase in FINISHED_PHASES
        self._status = step.status if is_over else replace(step.status, phase=phase)
        self.runtime.writes.status(pod, status=self._status, now=self.runtime.now())
        if failures:
            raise ContainerCreationError("; ".join(failures))
        times = [self.runtime.now() if is_over else step.next_at, deadline(pod, status)]
        return min((moment for moment in times if moment is not None), default=None)

    def _create(
        self, container: Container, *, pod: Pod, status: PodStatus
    ) -> tuple[PodStatus, str | None]:
        """Have the runtime create a container; the second value says why it did not."""
        one = status.of(container.name)
        names = cdi_names(self.runtime.claims.devices_of(container, pod=pod))
        try:
            self.runtime.cdi.resolve(names)
        except UnresolvableCdiDevicesError as error:
            self.runtime.events.warn(pod, reason="Failed", message=f"Error: {error}")
            refused = one.refused(reason="CreateContainerError", message=str(error))
            return status.with_container(refused), f"container {container.name}: {error}"
        self.runtime.events.note(
            pod, reason="Started", message=f"Started container {container.name}"
        )
        return status.with_container(one.started(now=self.runtime.now())), None
