"""Named formats, as Kubernetes offers them: `format.dns1123Label().validate(text)`.

Source: format.go of k8s.io/apiserver/pkg/cel/library.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from dra_console.allocator.cel import moments
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.quantities import is_parsed
from dra_console.allocator.cel.strings import text
from dra_console.allocator.cel.urls import parse_url
from dra_console.allocator.cel.values import NONE, Foreign, Optional, Value, no_such_overload

Check: TypeAlias = Callable[[str], str | None]

LABEL_LIMIT, SUBDOMAIN_LIMIT = 63, 253
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
SUBDOMAIN: Final = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*", re.ASCII)
NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
UUID: Final = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
DATETIME_T: Final = re.compile(r"t|z")


@dataclass(frozen=True, slots=True)
class Format(Foreign):
    """A named format."""

    TYPE_NAME: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def _matching(
    pattern: re.Pattern[str], limit: int, fault: str, *, is_prefix: bool = False
) -> Check:
    def check(value: str) -> str | None:
        whole = value[:-1] + "a" if is_prefix and len(value) > 1 and value.endswith("-") else value
        if len(value) > limit:
            return f"must be no more than {limit} characters"
        return None if pattern.fullmatch(whole) else fault

    return check


def _qualified_name(value: str) -> str | None:
    prefix, slash, name = value.rpartition("/")
    if slash and (not SUBDOMAIN.fullmatch(prefix) or len(prefix) > SUBDOMAIN_LIMIT):
        return "prefix part must be a DNS subdomain"
    return None if NAME.fullmatch(name) and len(name) <= LABEL_LIMIT else "name part is invalid"


def _label_value(value: str) -> str | None:
    is_fine = not value or (NAME.fullmatch(value) and len(value) <= LABEL_LIMIT)
    return None if is_fine else "a valid label must be empty or an alphanumeric name"


def _base64(value: str) -> str | None:
    if not value:
        return "invalid base64"
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return "invalid base64"
    return None


def _date(value: str) -> str | None:
    is_date = DATE.fullmatch(value) and moments.parse_timestamp(f"{value}T00:00:00Z")
    return None if is_date else "invalid date"


def _datetime(value: str) -> str | None:
    upper = DATETIME_T.sub(lambda found: found[0].upper(), value)
    return None if moments.parse_timestamp(upper) else "invalid datetime"


CHECKS: Final[Mapping[str, Check]] = {
    "dns1123Label": _matching(LABEL, LABEL_LIMIT, "a lowercase DNS label is expected"),
    "dns1123Subdomain": _matching(SUBDOMAIN, SUBDOMAIN_LIMIT, "a DNS subdomain is expected"),
    "dns1035Label": _matching(LABEL_1035, LABEL_LIMIT, "a DNS-1035 label is expected"),
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _matching(
        LABEL, LABEL_LIMIT, "a lowercase DNS label is expected", is_prefix=True
    ),
    "dns1123SubdomainPrefix": _matching(
        SUBDOMAIN, SUBDOMAIN_LIMIT, "a DNS subdomain is expected", is_prefix=True
    ),
    "dns1035LabelPrefix": _matching(
        LABEL_1035, LABEL_LIMIT, "a DNS-1035 label is expected", is_prefix=True
    ),
    "labelValue": _label_value,
    "uri": lambda value: None if is_parsed(parse_url, value) else "invalid URI",
    "uuid": lambda value: None if UUID.fullmatch(value) else "does not match the UUID format",
    "byte": _base64,
    "date": _date,
    "datetime": _datetime,
}


def _validate(values: Sequence[Value]) -> Optional:
    wanted, value = values
    if not isinstance(wanted, Format):
        raise no_such_overload()
    fault = CHECKS[wanted.name](text(value))
    return NONE if fault is None else Optional([fault])


def _named(values: Sequence[Value]) -> Optional:
    name = text(values[0])
    return Optional(Format(name)) if name in CHECKS else NONE


def _constant(name: str) -> Function:
    return lambda _: Format(name)


FUNCTIONS: Final[dict[str, Function]] = {
    "validate": _validate,
    "format.named": _named,
    **{f"format.{name}": _constant(name) for name in CHECKS},
}
