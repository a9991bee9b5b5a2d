"""Which writes turn the slices that a server has into those that a node wants.

Consumers use a pool only when all slices of its newest generation are there. So one changed slice
is replaced under its generation, which is atomic; anything more goes under a new generation, and
until it is complete the pool counts as incomplete, never as a mixture (node-agent.md 4.5).

Taints are the exception. Each is a matter of one device, so slices that differ in nothing else are
replaced one by one: a node with two sick GPUs stays of use for the claims of the others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nodeagent.fields import Fields, Json, JsonObject
from nodeagent.publish.compare import is_same
from nodeagent.publish.slices import DesiredSlice

INDEX_DIGITS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Whose slices these are."""

    driver: str
    node_name: str
    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class Writes:
    """What to send: replacements and creations as one, between deletions.

    A new generation is incomplete from the first of them to the last, so nothing else stands there.
    """

    delete: tuple[JsonObject, ...] = ()
    """Before anything else: they offer the same devices in another pool."""

    replace: tuple[JsonObject, ...] = ()
    create: tuple[JsonObject, ...] = ()
    clear: tuple[JsonObject, ...] = ()
    """Afterwards: nobody reads slices of a generation that is not the newest."""


def plan_writes(
    desired: Sequence[DesiredSlice],
    stored: Iterable[JsonObject],
    *,
    pool: Pool,
    after_generation: int = 0,
    is_published: Callable[[JsonObject, JsonObject], bool] = is_same,
) -> Writes:
    """Compare what a node wants with the slices that there are, all in v1's shape.

    Slices of other drivers or nodes, or of no node, are nobody's business here. `after_generation`
    is the newest one that consumers may have seen: it counts even where its slices are gone.
    `is_published` compares a stored spec with a wanted one.

    Raises:
        FieldError: a stored slice lacks what every API object has.

    """
    own = [one for one in map(_Stored.of, stored) if one.is_of(pool)]
    # A pool's name cannot be changed in place.
    seen = [one for one in own if one.pool_name == pool.name]
    newest = max((one.generation for one in seen), default=0)
    digits = max(INDEX_DIGITS, len(f"{len(desired) - 1:x}"))
    current, older, obsolete = _matched(seen, newest=newest, digits=digits, count=len(desired))
    # One too many of the newest generation, and the pool is of no use to anybody.
    is_over = any(one.generation == newest for one in obsolete)
    generation = newest or after_generation + 1
    wanted = [_spec(one, pool=pool, generation=generation, count=len(desired)) for one in desired]
    changed = [index for index, one in current.items() if not is_published(one.spec, wanted[index])]
    missing = [index for index in range(len(desired)) if index not in current]
    reshaped = [
        index
        for index in changed
        if not is_published(_healthy(current[index].spec), _healthy(wanted[index]))
    ]
    if seen and (missing or len(reshaped) > 1 or (changed and is_over)):
        generation = max(newest, after_generation) + 1
        # An outdated slice of the right place is overwritten: its name lives on.
        current |= older
        changed = list(current)
        missing = [index for index in missing if index not in current]
    else:
        obsolete += older.values()
    bodies = [
        _body(one, index, digits=digits, generation=generation, count=len(desired), pool=pool)
        for index, one in enumerate(desired)
    ]
    elsewhere = [one for one in own if one.pool_name != pool.name]
    return Writes(
        delete=_objects(elsewhere),
        replace=tuple(
            {**current[index].object, "spec": bodies[index]["spec"]} for index in sorted(changed)
        ),
        create=tuple(bodies[index] for index in missing),
        clear=_objects(obsolete),
    )


@dataclass(frozen=True, slots=True)
class _Stored:
    object: JsonObject
    name: str
    spec: JsonObject
    pool_name: str
    generation: int

    def is_of(self, pool: Pool) -> bool:
        owner = self.spec.get("driver"), self.spec.get("nodeName")
        return owner == (pool.driver, pool.node_name)

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


def _objects(slices: Iterable[_Stored]) -> tuple[JsonObject, ...]:
    return tuple(one.object for one in sorted(slices, key=lambda one: one.name))


def _healthy(spec: JsonObject) -> JsonObject:
    devices = spec.get("devices")
    if not isinstance(devices, list):
        return spec
    without: list[Json] = [
        {name: member for name, member in device.items() if name != "taints"}
        if isinstance(device, dict)
        else device
        for device in devices
    ]
    return {**spec, "devices": without}


def _matched(
    seen: Sequence[_Stored], *, newest: int, digits: int, count: int
) -> tuple[dict[int, _Stored], dict[int, _Stored], list[_Stored]]:
    """Sort slices into those of the newest generation, older ones of free places, and the rest."""
    current: dict[int, _Stored] = {}
    older: dict[int, _Stored] = {}
    obsolete = []
    for one in sorted(seen, key=lambda one: (-one.generation, one.name)):
        index = one.index(digits)
        if index is None or index >= count or index in current or index in older:
            obsolete.append(one)
        elif one.generation == newest:
            current[index] = one
        else:
            older[index] = one
    return current, older, obsolete


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
