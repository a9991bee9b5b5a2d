"""The usual shape of a slice, to be read in compiled code; slices are many, nearly all sound.

What the allocator's decoder makes of a slice is exact and slow: it knows the path of each
field that is wrong. Whatever fits this shape the decoder accepts, as tests prove; the few
slices that do not fit are left to it, and to its words. Unknown fields fit, as they do there.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
QuantityText: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"\A[0-9]{1,15}(\.[0-9]{1,6})?([KMGT]i|[mkMGT])?\Z")
]
"""The common spellings of a quantity."""


class Amount(msgspec.Struct, gc=False, rename="camel"):
    """A device's capacity, or a counter."""

    value: QuantityText
    request_policy: None = None


class Attribute(msgspec.Struct, gc=False, rename={"whole": "int", "flag": "bool"}):
    """A device's attribute: the one of its fields that is set."""

    whole: Whole | None = None
    flag: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: None = None
    bools: None = None
    strings: None = None
    versions: None = None


class Taint(msgspec.Struct, gc=False, rename="camel"):
    """A taint that the driver publishes with a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class _Declared(msgspec.Struct, gc=False, rename="camel"):
    name: str
    counters: dict[str, Amount]
    compatibility_groups: None = None


class Draw(msgspec.Struct, gc=False, rename="camel"):
    """What a device consumes of a counter set."""

    counter_set: str
    counters: dict[str, Amount]
    compatibility_groups: None = None


class DeviceFields(msgspec.Struct, gc=False, rename="camel"):
    """A device without its lists and maps."""

    name: str
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


class _Device(DeviceFields, gc=False, rename="camel"):
    attributes: dict[str, Attribute] = {}
    capacity: dict[str, Amount] = {}
    consumes_counters: list[Draw] = []
    taints: list[Taint] = []


class _Pool(msgspec.Struct, gc=False, rename="camel"):
    name: str
    generation: Whole
    resource_slice_count: Whole


class SpecFields(msgspec.Struct, gc=False, rename="camel"):
    """A slice's `spec` without its devices."""

    driver: str
    pool: _Pool
    shared_counters: list[_Declared] = []
    node_name: str = ""
    all_nodes: bool = False
    per_device_node_selection: bool = False
    skip_node_operations: list[str] = []
    node_selector: None = None


class _Spec(SpecFields, gc=False, rename="camel"):
    devices: list[_Device] = []


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    name: str


class SliceShape(msgspec.Struct, gc=False, rename="camel"):
    """A slice, as far as its pool's rules are about it."""

    api_version: Literal["resource.k8s.io/v1"]
    metadata: _Metadata
    spec: _Spec
