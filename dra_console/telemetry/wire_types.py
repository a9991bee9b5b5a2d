"""What the single fields of the agent's wire may hold."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta

NodeName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=253)
]
DriverName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", max_length=63)
]
PoolName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9./]*[a-z0-9])?\Z", max_length=253)
]
DeviceName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", max_length=63)
]
RequestName: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]([-a-z0-9/]*[a-z0-9])?\Z", max_length=127)
]
Identifier: TypeAlias = Annotated[str, Meta(pattern=r"^[-A-Za-z0-9._:+=/]+\Z", max_length=256)]
"""UUIDs, versions, boot ids, CDI ids: printable words without spaces."""

Sequence: TypeAlias = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
