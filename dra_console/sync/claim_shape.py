"""The usual shape of a claim, to be read in compiled code.

Unknown fields fit. What JSON columns repeat of a claim stays the text that it was sent as.
"""

from typing import Final

import msgspec

from dra_console.sync.sent import NO_ENTRIES, NO_FIELDS, SentMetadata

NOTHING: Final = msgspec.Raw()


class _Wish(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    device_class_name: str = ""


class Request(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a claim asks for under one name."""

    exactly: _Wish = _Wish()
    first_available: list[_Wish] = []


class _Asked(msgspec.Struct, frozen=True, gc=False):
    requests: list[Request] = []


class _Spec(msgspec.Struct, frozen=True, gc=False):
    devices: _Asked = _Asked()


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    allocation: msgspec.Raw = NOTHING
    reserved_for: msgspec.Raw = NO_ENTRIES
    devices: None = None


class ClaimShape(msgspec.Struct, frozen=True, gc=False):
    """A claim, as far as its rows are made of it."""

    metadata: SentMetadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """An entry of `status.reservedFor`."""

    resource: str = ""
    name: str = ""


class Result(msgspec.Struct, frozen=True, gc=False, rename={"share_id": "shareID"}):
    """One device that a claim holds."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = ""
    admin_access: bool = msgspec.field(default=False, name="adminAccess")
    consumed_capacity: msgspec.Raw = msgspec.field(default=NO_FIELDS, name="consumedCapacity")


class _Results(msgspec.Struct, frozen=True, gc=False):
    results: list[Result] = []


class _Requirement(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class _Term(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    match_fields: list[_Requirement] = []


class _Selector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_selector_terms: list[_Term] = []


class AllocationShape(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What `status.allocation` says."""

    allocation_timestamp: str = ""
    devices: _Results = _Results()
    node_selector: _Selector = _Selector()


read_claim: Final = msgspec.json.Decoder(ClaimShape).decode
read_allocation: Final = msgspec.json.Decoder(AllocationShape).decode
read_consumers: Final = msgspec.json.Decoder(list[Consumer]).decode
