"""The world as a scenario would have it: a snapshot with edits applied, and whom they hit.

Edits apply in their order, each to what the ones before have left. Objects that no edit is
about stay the very same, so what was derived from them holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.inventory import (
    DeviceId,
    ResourceSlice,
    Taint,
)
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.world.index import carry_index, derive_index
from dra_console.scheduling.whatif.copies import copies_of
from dra_console.scheduling.whatif.edits import (
    AddNodes,
    AddPods,
    DrainNode,
    Edit,
    FreeClaim,
    RemoveNode,
    SetClassSelectors,
    TaintDevices,
    UntaintDevices,
)
from dra_console.scheduling.whatif.hits import Hit, hit_by_loss, hit_by_taint
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.states import State
from dra_console.scheduling.whatif.tainting import with_taint, without_taint


@dataclass(frozen=True, slots=True)
class Effect:
    """What one edit does at once: claims that it hits, and how many devices it is about."""

    edit: Edit
    hits: tuple[Hit, ...] = ()
    devices: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """A snapshot, the nodes that take no pod and why, and what each edit did."""

    snapshot: Snapshot
    unusable: dict[str, str]
    effects: tuple[Effect, ...] = ()


def world_of(state: State) -> World:
    """Take a state as it is."""
    return World(state.snapshot, dict(state.unusable))


def changed(state: State, edits: Sequence[Edit], *, rights: Rights) -> World:
    """Apply edits; those that add pods are left to whoever places pods.

    Raises:
        DecodeError: a name is not known in the state, or may not be seen by the reader.

    """
    if not edits:
        return world_of(state)
    draft = _Draft(state, rights)
    effects = tuple(draft.apply(edit, path=f"edits[{number}]") for number, edit in enumerate(edits))
    return World(draft.snapshot, draft.unusable, effects)


def share_knowledge(before: World, after: World) -> None:
    """Let what is known of the devices before hold for those that no edit is about."""
    if after.snapshot is not before.snapshot:
        carry_index(before.snapshot, after.snapshot)
        derive_index(before.snapshot, after.snapshot)


@dataclass(slots=True)
class _Draft:
    """The world under change."""

    state: State
    rights: Rights
    snapshot: Snapshot = field(init=False)
    unusable: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.snapshot = self.state.snapshot
        self.unusable = dict(self.state.unusable)

    def apply(self, edit: Edit, *, path: str) -> Effect:
        """Apply one edit to what the ones before have left."""
        effect = Effect(edit)
        match edit:
            case AddNodes():
                effect = self._add_nodes(edit, path)
            case RemoveNode():
                effect = self._remove_node(edit, path)
            case DrainNode():
                effect = self._drain_node(edit, path)
            case TaintDevices():
                effect = self._taint(edit, path)
            case UntaintDevices():
                effect = self._untaint(edit, path)
            case FreeClaim():
                effect = self._free_claim(edit, path)
            case SetClassSelectors():
                effect = self._set_class_selectors(edit, path)
            case AddPods():
                pass  # placed when everything else is as the scenario has it
        return effect

    def _add_nodes(self, edit: AddNodes, path: str) -> Effect:
        self._require_node(edit.like, f"{path}.like")
        nodes, slices = copies_of(edit.like, edit.count, snapshot=self.snapshot)
        self._become(nodes=(*self.snapshot.nodes, *nodes), slices=(*self.snapshot.slices, *slices))
        if edit.like in self.state.unusable:
            self.unusable |= dict.fromkeys(
                (node.name for node in nodes), self.state.unusable[edit.like]
            )
        return Effect(edit, devices=sum(len(each.devices) for each in slices))

    def _remove_node(self, edit: RemoveNode, path: str) -> Effect:
        self._require_node(edit.node, f"{path}.node")
        own = [each for each in self.snapshot.slices if each.reach.node_name == edit.node]
        hits = self._lost(edit.node, own)
        gone = {id(each) for each in own}
        self._become(
            nodes=tuple(node for node in self.snapshot.nodes if node.name != edit.node),
            slices=tuple(each for each in self.snapshot.slices if id(each) not in gone),
        )
        return Effect(edit, hits, devices=sum(len(each.devices) for each in own))

    def _drain_node(self, edit: DrainNode, path: str) -> Effect:
        self._require_node(edit.node, f"{path}.node")
        own = [each for each in self.snapshot.slices if each.reach.node_name == edit.node]
        hits = self._lost(edit.node, own)
        self.unusable[edit.node] = "the node is drained in this scenario"
        return Effect(edit, hits, devices=sum(len(each.devices) for each in own))

    def _lost(self, node: str, own: Iterable[ResourceSlice]) -> tuple[Hit, ...]:
        devices = {
            DeviceId(each.driver, each.pool, device.name) for each in own for device in each.devices
        }
        hits = tuple(hit_by_loss(self.snapshot.claims, node=node, devices=devices))
        self._release(hits)
        return hits

    def _taint(self, edit: TaintDevices, path: str) -> Effect:
        if edit.devices.node:
            self._require_node(edit.devices.node, f"{path}.devices.node")
        taint = Taint(edit.key, edit.value, edit.effect)
        self.snapshot, tainted = with_taint(self.snapshot, taint, edit.devices)
        if not tainted:
            raise DecodeError(f"{path}.devices", f"no device is published by {edit.devices}")
        hits = tuple(hit_by_taint(self.snapshot.claims, taint, devices=tainted))
        self._release(hits)
        return Effect(edit, hits, devices=len(tainted))

    def _untaint(self, edit: UntaintDevices, path: str) -> Effect:
        self.snapshot, untainted = without_taint(self.snapshot, edit)
        if not untainted:
            raise DecodeError(f"{path}.key", f"no such device has a taint {edit.key}")
        return Effect(edit, devices=len(untainted))

    def _free_claim(self, edit: FreeClaim, path: str) -> Effect:
        claim = self._claim_to_free(edit, path)
        self._become(
            claims=tuple(_freed(each) if each is claim else each for each in self.snapshot.claims)
        )
        held = claim.allocation.results if claim.allocation else ()
        return Effect(edit, devices=len(held))

    def _claim_to_free(self, edit: FreeClaim, path: str) -> ResourceClaim:
        if edit.holding is not None:
            holder = next(
                (each for each in self.snapshot.claims if _holds(each, edit.holding)), None
            )
            if holder is None:
                raise DecodeError(f"{path}.holding", f"no claim holds {edit.holding}")
            return holder
        key = f"{edit.namespace}/{edit.name}"
        claim = next((each for each in self.snapshot.claims if each.key == key), None)
        if claim is None or not self.rights.sees_claims(edit.namespace):
            raise DecodeError(path, f"there is no claim {key}, or you may not see it")
        if claim.allocation is None:
            raise DecodeError(path, f"claim {key} holds no device")
        return claim

    def _set_class_selectors(self, edit: SetClassSelectors, path: str) -> Effect:
        if all(each.name != edit.device_class for each in self.snapshot.classes):
            raise DecodeError(f"{path}.deviceClass", f"there is no class {edit.device_class}")
        self._become(
            classes=tuple(
                replace(each, selectors=edit.selectors) if each.name == edit.device_class else each
                for each in self.snapshot.classes
            )
        )
        return Effect(edit)

    def _require_node(self, name: str, path: str) -> None:
        if all(node.name != name for node in self.snapshot.nodes):
            raise DecodeError(path, f"there is no node {name}")

    def _release(self, hits: Iterable[Hit]) -> None:
        evicted = {id(hit.claim) for hit in hits if hit.is_evicted}
        if evicted:
            self._become(
                claims=tuple(
                    _freed(each) if id(each) in evicted else each for each in self.snapshot.claims
                )
            )

    def _become(self, **parts: object) -> None:
        self.snapshot = replace(self.snapshot, **parts)  # type: ignore[arg-type]  # fields of Snapshot


def _freed(claim: ResourceClaim) -> ResourceClaim:
    """Take away what a claim holds; written out, since a fleet may lose all of its claims."""
    return ResourceClaim(
        claim.namespace,
        claim.name,
        claim.uid,
        claim.spec,
        is_deleting=claim.is_deleting,
        devices=claim.devices,
    )


def _holds(claim: ResourceClaim, device_id: DeviceId) -> bool:
    results = claim.allocation.results if claim.allocation else ()
    return any(each.device_id == device_id and not each.admin_access for each in results)
