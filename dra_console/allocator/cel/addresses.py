"""IP addresses, networks and URLs, as Kubernetes offers them to selectors.

Source: ip.go, cidr.go and urls.go of k8s.io/apiserver/pkg/cel/library, which read texts with
Go's `netip` and `net/url`.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.quantities import Parsed, is_parsed, parsed
from dra_console.allocator.cel.strings import text
from dra_console.allocator.cel.values import EvaluationError, Foreign, Value, no_such_overload

IPAddress: TypeAlias = IPv4Address | IPv6Address
IPNetwork: TypeAlias = IPv4Network | IPv6Network

PATH_KEPT: Final = "/!$&'()*+,;=:@~-._[]"
"""Left as they are by Go in the path of a URL."""
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
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


@dataclass(frozen=True, slots=True)
class Url(Foreign):
    """A URL, absolute or a path from the root."""

    TYPE_NAME: ClassVar[str] = "kubernetes.URL"
    url: str


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


def parse_url(spelled: str) -> Url:
    """Read an absolute URL, or a path from the root.

    Raises:
        ValueError: it is neither.

    """
    has_scheme = SCHEME.match(spelled)
    if not spelled or CONTROL.search(spelled) or not (has_scheme or spelled.startswith("/")):
        raise ValueError(f"expected an absolute URL, got {spelled!r}")
    if has_scheme and not spelled.startswith("/", has_scheme.end()):
        return Url(spelled)
    parts = urlsplit(spelled)
    host = parts.netloc.rpartition("@")[2]
    _, bracket, port = host.rpartition("]")
    if not bracket:
        name, colon, number = host.partition(":")
        port = colon + number
        if " " in name or "[" in name or "<" in name or ">" in name or '"' in name:
            raise ValueError(f"invalid character in host name of {spelled!r}")
    elif not host.startswith("["):
        raise ValueError(f"invalid host in {spelled!r}")
    if not PORT.fullmatch(port):
        raise ValueError(f"invalid port {port!r} after host")
    if PERCENT.search(parts.path) or PERCENT.search(host):
        raise ValueError(f"invalid URL escape in {spelled!r}")
    return Url(spelled)


def _address(value: Value) -> IPAddress:
    if not isinstance(value, Address):
        raise no_such_overload()
    return value.ip


def _network(value: Value) -> Network:
    if not isinstance(value, Network):
        raise no_such_overload()
    return value


def _url(value: Value) -> str:
    if not isinstance(value, Url):
        raise no_such_overload()
    return value.url


def _ip(values: Sequence[Value]) -> Address:
    if isinstance(values[0], Network):
        return Address(values[0].ip)
    return parsed(parse_ip, text(values[0]))


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


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _hostname(values: Sequence[Value]) -> str:
    host = _host(_url(values[0]))
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(values: Sequence[Value]) -> str:
    host = _host(_url(values[0])).rpartition("]")[2]
    return host.partition(":")[2]


def _query(values: Sequence[Value]) -> dict[Hashable, Value]:
    found: dict[Hashable, Value] = {}
    for key, value in parse_qsl(urlsplit(_url(values[0])).query, keep_blank_values=True):
        held = found.setdefault(key, [])
        if isinstance(held, list):
            held.append(value)
    return found


def _path(values: Sequence[Value]) -> str:
    path = urlsplit(_url(values[0])).path
    if not path.startswith("/"):
        return ""
    return (
        path
        if quote(unquote(path), safe=PATH_KEPT + "%") == path
        else quote(path, safe=PATH_KEPT + "%")
    )


def _string_of_host(values: Sequence[Value]) -> str:
    host = _host(_url(values[0]))
    if "%" in host:
        raise EvaluationError("escapes in host names are not offered")
    return host


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
    "url": lambda values: parsed(parse_url, text(values[0])),
    "isURL": lambda values: is_parsed(parse_url, text(values[0])),
    "getScheme": lambda values: urlsplit(_url(values[0])).scheme,
    "getHost": _string_of_host,
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": _path,
    "getQuery": _query,
}
