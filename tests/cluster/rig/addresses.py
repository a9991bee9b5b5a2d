"""Addresses of one rig's pods and services, other ones in each: their routes are the machine's."""

import ipaddress
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHARED: Final = ipaddress.IPv4Network("100.64.0.0/10")
"""Not of any private network that the machine may be in (RFC 6598)."""

BLOCK_BITS: Final = 25


@dataclass(frozen=True, slots=True)
class Addresses:
    """A block of addresses: half of it for pods, half for services."""

    pods: ipaddress.IPv4Network
    services: ipaddress.IPv4Network

    @classmethod
    def of(cls, folder: Path) -> "Addresses":
        """Choose the block of the rig in this folder."""
        blocks = 1 << (BLOCK_BITS - SHARED.prefixlen)
        number = zlib.crc32(str(folder).encode()) % blocks
        first = SHARED.network_address + (number << (SHARED.max_prefixlen - BLOCK_BITS))
        pods, services = ipaddress.IPv4Network((first, BLOCK_BITS)).subnets()
        return cls(pods, services)

    @property
    def api(self) -> ipaddress.IPv4Address:
        """The service `kubernetes`, which gets the first address of its range."""
        return self.services.network_address + 1
