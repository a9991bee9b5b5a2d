"""URLs, as Kubernetes offers them to selectors.

Source: urls.go of k8s.io/apiserver/pkg/cel/library, which reads texts with Go's `net/url`.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.quantities import is_parsed, parsed
from dra_console.allocator.cel.strings import text
from dra_console.allocator.cel.values import EvaluationError, Foreign, Value, no_such_overload

PATH_KEPT: Final = "/!$&'()*+,;=:@~-._[]"
"""Left as they are by Go in the path of a URL."""
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Url(Foreign):
    """A URL, absolute or a path from the root."""

    TYPE_NAME: ClassVar[str] = "kubernetes.URL"
    url: str


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


def _url(value: Value) -> str:
    if not isinstance(value, Url):
        raise no_such_overload()
    return value.url


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
    "url": lambda values: parsed(parse_url, text(values[0])),
    "isURL": lambda values: is_parsed(parse_url, text(values[0])),
    "getScheme": lambda values: urlsplit(_url(values[0])).scheme,
    "getHost": _string_of_host,
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": _path,
    "getQuery": _query,
}
