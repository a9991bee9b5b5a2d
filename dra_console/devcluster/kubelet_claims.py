"""The claims of one node's pods: preparing them through their drivers and taking them back.

Follows `node-agent.md` 2.1. A claim is prepared for the first pod that uses it and taken back
after the last; "prepared" is known in memory only, so after a restart the next pod has the
driver called again, who must bear that.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import structlog

from dra_console.allocator.decoding.decode import decode_node
from dra_console.allocator.errors import AllocatorError
from dra_console.devcluster.claims import LifeCycleClaim
from dra_console.devcluster.errors import NotFoundError
from dra_console.devcluster.kubelet_checkpoint import Checkpoint, ClaimState
from dra_console.devcluster.kubelet_claim_rules import (
    ContainerDevice,
    PrepareError,
    check_answers,
    check_claim,
    claim_name,
    container_devices,
)
from dra_console.devcluster.kubelet_plugin import ClaimReference, Plugin, PluginCallError
from dra_console.devcluster.kubelet_registration import PluginRegistry
from dra_console.devcluster.pods import Container, Pod
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NODES, RESOURCE_CLAIMS

log = structlog.get_logger()


class UnprepareError(Exception):
    """A driver did not take a claim back; the pod cannot go yet, and it is tried again."""


@dataclass(slots=True)
class NodeClaims:
    """Which claims are in use on a node. Calls for one claim never overlap."""

    store: Store
    node_name: str
    registry: PluginRegistry
    checkpoint: Checkpoint
    call_seconds: float
    _states: dict[str, ClaimState] = field(init=False)
    _prepared: set[str] = field(default_factory=set)
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def __post_init__(self) -> None:
        self._states = self.checkpoint.load()

    @property
    def pod_uids(self) -> frozenset[str]:
        """Uids of the pods for which a prepare was issued and no unprepare succeeded since."""
        return frozenset(uid for state in self._states.values() for uid in state.pod_uids)

    def has_devices_of(self, pod: Pod) -> bool:
        """Tell whether all claims of a pod were prepared, as far as the checkpoint knows."""
        names = {claim_name(pod_claim, pod=pod) for pod_claim in pod.claims} - {None}
        held = {
            state.reference.name
            for state in self._states.values()
            if pod.uid in state.pod_uids and state.devices.keys() == state.drivers
        }
        return names <= held

    def devices_of(self, container: Container, *, pod: Pod) -> tuple[ContainerDevice, ...]:
        """Return the prepared devices that a container of the pod gets."""
        return tuple(container_devices(container, pod=pod, states=self._states.values()))

    async def prepare(self, pod: Pod) -> None:
        """Have all claims of a pod prepared, each driver called once.

        Raises:
            PrepareError: not all could be; those that could are remembered.

        """
        claims = self._usable_claims(pod)
        async with self._locked(claim.claim.uid for claim in claims):
            waiting = [claim for claim in claims if claim.claim.uid not in self._prepared]
            plugins = self._plugins(waiting)
            self._add_user(pod, claims=claims)
            for driver, plugin in plugins.items():
                asked = [
                    self._states[claim.claim.uid].reference
                    for claim in waiting
                    if driver in _drivers(claim)
                ]
                await self._prepare(asked, plugin=plugin)
            self._prepared.update(claim.claim.uid for claim in waiting)

    async def unprepare(self, pod_uid: str) -> None:
        """Let go of the claims of a pod; those that no other pod uses are taken back.

        Raises:
            UnprepareError: a driver did not take a claim back; call again.

        """
        uids = [uid for uid, state in self._states.items() if pod_uid in state.pod_uids]
        if not uids:
            return
        async with self._locked(uids):
            last: list[ClaimState] = []
            for uid in uids:
                state = self._states[uid]
                if state.pod_uids == {pod_uid}:
                    last.append(state)
                else:
                    self._states[uid] = replace(state, pod_uids=state.pod_uids - {pod_uid})
            self.checkpoint.store(self._states)
            self._prepared.difference_update(state.reference.uid for state in last)
            failures = await self._take_back(last)
            for state in last:
                if state.reference.uid not in failures:
                    del self._states[state.reference.uid]
            self.checkpoint.store(self._states)
        if failures:
            raise UnprepareError("; ".join(failures.values()))

    def _usable_claims(self, pod: Pod) -> list[LifeCycleClaim]:
        """Read the claims of a pod and check that it may use them here.

        Raises:
            PrepareError: it may not use one, or one cannot be read.

        """
        claims: dict[str, LifeCycleClaim] = {}
        try:
            node = decode_node(self.store.get(NODES, "", self.node_name))
            for pod_claim in pod.claims:
                name = claim_name(pod_claim, pod=pod)
                if name is None:
                    continue
                stored = self.store.get(RESOURCE_CLAIMS, pod.namespace, name)
                claim = LifeCycleClaim.read(stored)
                check_claim(claim, pod_claim=pod_claim, pod=pod, node=node)
                claims[claim.claim.uid] = claim
        except (AllocatorError, NotFoundError) as error:
            raise PrepareError(str(error)) from error
        return list(claims.values())

    def _plugins(self, claims: Iterable[LifeCycleClaim]) -> dict[str, Plugin]:
        """Find the plugins of all drivers of claims.

        Raises:
            PrepareError: a driver is not registered.

        """
        plugins: dict[str, Plugin] = {}
        for driver in sorted({driver for claim in claims for driver in _drivers(claim)}):
            plugin = self.registry.plugin(driver)
            if plugin is None:
                raise PrepareError(f"DRA driver {driver} is not registered on {self.node_name}")
            plugins[driver] = plugin
        return plugins

    def _add_user(self, pod: Pod, *, claims: Iterable[LifeCycleClaim]) -> None:
        """Write down that the pod is about to use the claims."""
        added: dict[str, ClaimState] = {}
        for life_cycle in claims:
            claim = life_cycle.claim
            for state in self._states.values():
                known = state.reference
                same_name = (known.namespace, known.name) == (claim.namespace, claim.name)
                if same_name and known.uid != claim.uid:
                    raise PrepareError(
                        f"old ResourceClaim with the same name {claim.key} and other UID"
                        f" {known.uid} is still prepared"
                    )
            state = self._states.get(
                claim.uid,
                ClaimState(
                    reference=ClaimReference(claim.namespace, claim.name, claim.uid),
                    drivers=_drivers(life_cycle),
                    pod_uids=frozenset(),
                ),
            )
            added[claim.uid] = replace(state, pod_uids=state.pod_uids | {pod.uid})
        self._states |= added
        self.checkpoint.store(self._states)

    async def _prepare(self, claims: list[ClaimReference], *, plugin: Plugin) -> None:
        try:
            answers = await plugin.prepare(claims, timeout_seconds=self.call_seconds)
        except PluginCallError as error:
            raise PrepareError(str(error)) from error
        for claim in claims:
            answer = answers.get(claim.uid)
            if answer is not None and not answer.error:
                state = self._states[claim.uid]
                devices = {**state.devices, plugin.driver: answer.devices}
                self._states[claim.uid] = replace(state, devices=devices)
        self.checkpoint.store(self._states)
        check_answers(answers, driver=plugin.driver, asked=claims)

    async def _take_back(self, states: list[ClaimState]) -> dict[str, str]:
        """Call the drivers of claims; return what went wrong, by claim UID."""
        failures: dict[str, str] = {}
        for driver in sorted({driver for state in states for driver in state.drivers}):
            asked = [state.reference for state in states if driver in state.drivers]
            errors = await self._unprepare(asked, driver=driver)
            for claim in asked:
                error = errors.get(claim.uid, "missing in the answer")
                if error:
                    about = f"ResourceClaim {claim.namespace}/{claim.name} ({claim.uid})"
                    failures[claim.uid] = f"driver {driver}: {about}: {error}"
        return failures

    async def _unprepare(self, claims: list[ClaimReference], *, driver: str) -> dict[str, str]:
        plugin = self.registry.plugin(driver)
        if plugin is None:
            return dict.fromkeys((claim.uid for claim in claims), "driver is not registered")
        try:
            return await plugin.unprepare(claims, timeout_seconds=self.call_seconds)
        except PluginCallError as error:
            return dict.fromkeys((claim.uid for claim in claims), str(error))

    @asynccontextmanager
    async def _locked(self, claim_uids: Iterable[str]) -> AsyncIterator[None]:
        """Hold several claims; taken in one order by all, so that nobody waits for ever."""
        async with AsyncExitStack() as stack:
            for uid in sorted(claim_uids):
                lock = self._locks.setdefault(uid, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield


def _drivers(claim: LifeCycleClaim) -> frozenset[str]:
    allocation = claim.claim.allocation
    return frozenset(result.driver for result in allocation.results) if allocation else frozenset()
