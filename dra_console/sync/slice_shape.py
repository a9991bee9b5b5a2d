"""Read of a slice what its pool's rules are about, fast; slices are many, nearly all sound.

What the allocator's decoder makes of a slice is exact and slow: it knows the path of each
field that is wrong. Here the same fields are only looked at, in compiled code. Whatever
fits this shape the decoder accepts; the few that do not fit are left to it, and to its
words. Unknown fields fit, as they do there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import msgspec

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.model import JsonObject

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Amount: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"\A[0-9]{1,15}(\.[0-9]{1,6})?([KMGT]i|[mkMGT])?\Z")
]
"""The common spellings of a quantity."""


@dataclass(frozen=True, slots=True)
class Counters:
    """A counter set as it is declared, or as one device draws on it."""

    name: str
    counters: Collection[str]


@dataclass(frozen=True, slots=True)
class SliceFacts:
    """What the rules for pools ask of one slice."""

    generation: int
    slice_count: int
    device_names: Sequence[str]
    declared: Sequence[Counters]
    draws: Sequence[tuple[str, Counters]]
    """With the name of the device that draws."""


def slice_facts(published: JsonObject) -> SliceFacts:
    """Read one slice, as `storable` leaves it.

    Raises:
        DecodeError: it cannot be read.

    """
    try:
        shape = msgspec.convert(published, _Slice)
    except msgspec.ValidationError:
        return exact_facts(published)
    spec = shape.spec
    return SliceFacts(
        generation=spec.pool.generation,
        slice_count=spec.pool.resource_slice_count,
        device_names=[device.name for device in spec.devices],
        declared=[Counters(each.name, each.counters) for each in spec.shared_counters],
        draws=[
            (device.name, Counters(draw.counter_set, draw.counters))
            for device in spec.devices
            for draw in device.consumes_counters
        ],
    )


def exact_facts(published: JsonObject) -> SliceFacts:
    """Read one slice by the allocator's decoder.

    Raises:
        DecodeError: it cannot be read.

    """
    decoded = decode_slice(published)
    return SliceFacts(
        generation=decoded.generation,
        slice_count=decoded.resource_slice_count,
        device_names=[device.name for device in decoded.devices],
        declared=[Counters(each.name, each.counters) for each in decoded.shared_counters],
        draws=[
            (device.name, Counters(draw.name, draw.counters))
            for device in decoded.devices
            for draw in device.consumes_counters
        ],
    )


class _Amount(msgspec.Struct, gc=False, rename="camel"):
    value: Amount
    request_policy: None = None


class _Attribute(msgspec.Struct, gc=False, rename={"whole": "int", "flag": "bool"}):
    whole: Whole | None = None
    flag: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: None = None
    bools: None = None
    strings: None = None
    versions: None = None


class _Taint(msgspec.Struct, gc=False, rename="camel"):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class _Declared(msgspec.Struct, gc=False, rename="camel"):
    name: str
    counters: dict[str, _Amount]
    compatibility_groups: None = None


class _Draw(msgspec.Struct, gc=False, rename="camel"):
    counter_set: str
    counters: dict[str, _Amount]
    compatibility_groups: None = None


class _Device(msgspec.Struct, gc=False, rename="camel"):
    name: str
    attributes: dict[str, _Attribute] = {}
    capacity: dict[str, _Amount] = {}
    consumes_counters: list[_Draw] = []
    taints: list[_Taint] = []
    node_name: str = ""
    all_nodes: bool = False
    binds_to_node: bool = False
    allow_multiple_allocations: bool = False
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    node_selector: None = None
    basic: None = None
    node_allocatable_resources: None = None
    node_allocatable_resource_mappings: None = None


class _Pool(msgspec.Struct, gc=False, rename="camel"):
    name: str
    generation: Whole
    resource_slice_count: Whole


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    driver: str
    pool: _Pool
    devices: list[_Device] = []
    shared_counters: list[_Declared] = []
    node_name: str = ""
    all_nodes: bool = False
    per_device_node_selection: bool = False
    skip_node_operations: list[str] = []
    node_selector: None = None


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    name: str


class _Slice(msgspec.Struct, gc=False, rename="camel"):
    api_version: Literal["resource.k8s.io/v1"]
    metadata: _Metadata
    spec: _Spec
