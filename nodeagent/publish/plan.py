"""Which writes turn the slices that a server has into those that a node wants.

Consumers use a pool only when all slices of its newest generation are there. So one changed slice
is replaced under its generation, which is atomic; anything more goes under a new generation, and
until it is complete the pool counts as incomplete, never as a mixture (node-agent.md 4.5).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nodeagent.fields import FieldError, Fields, Json, JsonObject
from nodeagent.publish.slices import DesiredSlice
from nodeagent.quantity import value_of

INDEX_DIGITS: Final = 5
QUANTITY_MAPS: Final = frozenset({"capacity", "counters"})
IGNORED: Final = frozenset({"timeAdded"})
"""Set by the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Whose slices these are."""

    driver: str
    node_name: str
    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class Writes:
    """What to send, in this order: deletions, replacements, creations."""

    delete: tuple[JsonObject, ...] = ()
    replace: tuple[JsonObject, ...] = ()
    create: tuple[JsonObject, ...] = ()


def plan_writes(
    desired: Sequence[DesiredSlice], stored: Iterable[JsonObject], *, pool: Pool
) -> Writes:
    """Compare what a node wants with this driver's slices of the node, in v1's shape.

    Raises:
        FieldError: a stored slice lacks what every API object has.

    """
    seen = [_Stored.of(slice_object) for slice_object in stored]
    generation = max((one.generation for one in seen), default=0) or 1
    digits = max(INDEX_DIGITS, len(f"{len(desired) - 1:x}"))
    current: dict[int, _Stored] = {}
    obsolete = []
    for one in sorted(seen, key=lambda one: one.name):
        index = one.index(digits)
        is_ours = one.pool_name == pool.name and one.generation == generation
        if is_ours and index is not None and index < len(desired) and index not in current:
            current[index] = one
        else:
            obsolete.append(one.object)
    wanted = [_spec(one, pool=pool, generation=generation, count=len(desired)) for one in desired]
    changed = [index for index, one in current.items() if not is_same(one.spec, wanted[index])]
    missing = [index for index in range(len(desired)) if index not in current]
    if seen and (missing or len(changed) > 1):
        generation += 1
        changed = list(current)
    bodies = [
        _body(one, index, digits=digits, generation=generation, count=len(desired), pool=pool)
        for index, one in enumerate(desired)
    ]
    return Writes(
        delete=tuple(obsolete),
        replace=tuple(
            {**current[index].object, "spec": bodies[index]["spec"]} for index in sorted(changed)
        ),
        create=tuple(bodies[index] for index in missing),
    )


def is_same(stored: Json, wanted: Json) -> bool:
    """Compare two specs as the API means them: quantities by value, absent like empty."""
    return _canonical(stored) == _canonical(wanted)


def lost_counters(sent: JsonObject, kept: JsonObject) -> bool:
    """Tell whether the server dropped counters: its feature gate for partitions is off."""
    return _counter_parts(sent) != _counter_parts(kept)


@dataclass(frozen=True, slots=True)
class _Stored:
    object: JsonObject
    name: str
    spec: JsonObject
    pool_name: str
    generation: int

    @classmethod
    def of(cls, slice_object: JsonObject) -> "_Stored":
        fields = Fields(slice_object, "ResourceSlice")
        spec = fields.object("spec")
        pool = spec.object("pool")
        generation = pool.optional_integer("generation")
        return cls(
            object=slice_object,
            name=fields.object("metadata").text("name"),
            spec=spec.value,
            pool_name=pool.text("name"),
            generation=generation or 0,
        )

    def index(self, digits: int) -> int | None:
        prefix, _, _ = self.name.partition("-")
        if len(prefix) != digits:
            return None
        try:
            return int(prefix, 16)
        except ValueError:
            return None


def _spec(desired: DesiredSlice, *, pool: Pool, generation: int, count: int) -> JsonObject:
    return {
        "driver": pool.driver,
        "nodeName": pool.node_name,
        "pool": {"name": pool.name, "generation": generation, "resourceSliceCount": count},
        **desired.spec_members(),
    }


def _body(  # noqa: PLR0913 - each is one number of the object, and all six differ
    desired: DesiredSlice, index: int, *, digits: int, generation: int, count: int, pool: Pool
) -> JsonObject:
    owner: JsonObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": pool.node_name,
        "uid": pool.node_uid,
        "controller": True,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {
            # The server cuts this at 58 characters, so what we read back stands first.
            "generateName": f"{index:0{digits}x}-{pool.driver}-{pool.node_name}-",
            "ownerReferences": [owner],
        },
        "spec": _spec(desired, pool=pool, generation=generation, count=count),
    }


def _canonical(value: object, *, is_quantity: bool = False) -> object:
    if isinstance(value, dict):
        return {
            name: _canonical(member, is_quantity=is_quantity or name in QUANTITY_MAPS)
            for name, member in value.items()
            if name not in IGNORED and member not in (None, [], {})
        }
    if isinstance(value, list):
        return [_canonical(item, is_quantity=is_quantity) for item in value]
    if is_quantity and isinstance(value, str):
        return value_of(value) if value_of(value) is not None else value
    return value


def _counter_parts(slice_object: JsonObject) -> tuple[bool, int]:
    spec = slice_object.get("spec")
    if not isinstance(spec, Mapping):
        raise FieldError("spec: expected an object")
    devices = spec.get("devices")
    consumers = [
        device
        for device in (devices if isinstance(devices, list) else [])
        if isinstance(device, Mapping) and device.get("consumesCounters")
    ]
    return bool(spec.get("sharedCounters")), len(consumers)
