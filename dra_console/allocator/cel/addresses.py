"""IP addresses and networks, as Kubernetes offers them to selectors.

Source: ip.go and cidr.go of k8s.io/apiserver/pkg/cel/library, which read texts with Go's `netip`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final, TypeAlias

from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.quantities import Parsed, is_parsed, parsed
from dra_console.allocator.cel.strings import text
from dra_console.allocator.cel.values import EvaluationError, Foreign, Value, no_such_overload

IPAddress: TypeAlias = IPv4Address | IPv6Address
IPNetwork: TypeAlias = IPv4Network | IPv6Network

PREFIX: Final = re.compile(r"[1-9][0-9]{0,2}|0", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address(Foreign):
    """An IP address."""

    TYPE_NAME: ClassVar[str] = "net.IP"
    ip: IPAddress

    @property
    def spelled(self) -> str:
        """The canonical spelling."""
        return str(self.ip)


@dataclass(frozen=True, slots=True)
class Network(Foreign):
    """An address with the length of its network's prefix; bits behind it may be set."""

    TYPE_NAME: ClassVar[str] = "net.CIDR"
    ip: IPAddress
    length: int

    @property
    def spelled(self) -> str:
        """The canonical spelling."""
        return f"{self.ip}/{self.length}"

    @property
    def network(self) -> IPNetwork:
        """All addresses of the network."""
        return ip_network(self.spelled, strict=False)


def parse_ip(spelled: str) -> Address:
    """Read an address without zone that is no IPv4 in IPv6's clothes.

    Raises:
        ValueError: it is none.

    """
    address = ip_address(spelled)
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"IP address {spelled!r} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise ValueError(f"IPv4-mapped IPv6 address {spelled!r} is not allowed")
    return Address(address)


def parse_cidr(spelled: str) -> Network:
    """Read `10.0.0.0/8`.

    Raises:
        ValueError: it is none.

    """
    address, slash, length = spelled.rpartition("/")
    if not slash or not PREFIX.fullmatch(length):
        raise ValueError(f"expected a network such as 10.0.0.0/8, got {spelled!r}")
    ip = parse_ip(address).ip
    if int(length) > ip.max_prefixlen:
        raise ValueError(f"prefix length out of range in {spelled!r}")
    return Network(ip, int(length))


def _address(value: Value) -> IPAddress:
    if not isinstance(value, Address):
        raise no_such_overload()
    return value.ip


def _network(value: Value) -> Network:
    if not isinstance(value, Network):
        raise no_such_overload()
    return value


def _ip(values: Sequence[Value]) -> Address:
    return parsed(parse_ip, text(values[0]))


def _ip_of_network(values: Sequence[Value]) -> Address:
    return Address(_network(values[0]).ip)


def _is_canonical(values: Sequence[Value]) -> bool:
    spelled = text(values[0])
    return parsed(parse_ip, spelled).spelled == spelled


def _is_global_unicast(values: Sequence[Value]) -> bool:
    ip = _address(values[0])
    is_broadcast = ip == IPv4Address("255.255.255.255")
    return not (
        is_broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or _is_link_local(ip)
    )


def _is_link_local(ip: IPAddress) -> bool:
    return ip.is_link_local


def _is_link_local_multicast(values: Sequence[Value]) -> bool:
    ip = _address(values[0])
    if isinstance(ip, IPv4Address):
        return ip in IPv4Network("224.0.0.0/24")
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 0x02  # noqa: PLR2004  RFC 4291


def _operand(parse: Callable[[str], Parsed], spelled: str) -> Parsed:
    """Read a text where an address could stand; upstream says just "no such overload"."""
    try:
        return parse(spelled)
    except ValueError as error:
        raise EvaluationError(f"no such overload: {error}") from error


def _contains_ip(values: Sequence[Value]) -> bool:
    network, other = _network(values[0]), values[1]
    address = _operand(parse_ip, other).ip if isinstance(other, str) else _address(other)
    return address in network.network


def _contains_cidr(values: Sequence[Value]) -> bool:
    outer, other = _network(values[0]), values[1]
    inner = _operand(parse_cidr, other) if isinstance(other, str) else _network(other)
    return inner.ip in outer.network and outer.length <= inner.length


def _masked(values: Sequence[Value]) -> Network:
    network = _network(values[0])
    return Network(network.network.network_address, network.length)


FUNCTIONS: Final[dict[str, Function]] = {
    "ip": _ip,
    "isIP": lambda values: is_parsed(parse_ip, text(values[0])),
    "ip.isCanonical": _is_canonical,
    "family": lambda values: _address(values[0]).version,
    "isUnspecified": lambda values: _address(values[0]).is_unspecified,
    "isLoopback": lambda values: _address(values[0]).is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda values: _is_link_local(_address(values[0])),
    "isGlobalUnicast": _is_global_unicast,
    "cidr": lambda values: parsed(parse_cidr, text(values[0])),
    "isCIDR": lambda values: is_parsed(parse_cidr, text(values[0])),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda values: _network(values[0]).length,
    "masked": _masked,
}

METHODS: Final[dict[str, Function]] = {"ip": _ip_of_network}
"""Functions that mean something else when they are called on a value: `network.ip()`."""
