"""What selectors may call beyond CEL's own library, typed as Kubernetes types it.

Sources: the libraries of k8s.io/apiserver/pkg/cel, cel-go's `strings` (version 2) and `lists`
(version 3) as Kubernetes enables them, and its numeric comparisons across types. The ids of
overloads are upstream's: by them the cost of a call is estimated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

UNESCAPED_DOT: Final = re.compile(r"(?<!\\)\.")


class Overload(NamedTuple):
    """One way to call a function, in the engine's notation."""

    id: str
    signature: str
    result: str

    @property
    def function(self) -> str:
        """Name the function: what follows the type of a target and precedes the parameters."""
        head, _, _ = self.signature.partition("(")
        return UNESCAPED_DOT.split(head)[-1].replace("\\", "")


Q, V, U, F = "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "kubernetes.NamedFormat"
IP, CIDR, TEXTS, LIST = "net.IP", "net.CIDR", "list<string>", "list<~T>"

QUANTITIES: Final = (
    Overload("string_to_quantity", "quantity(string)", Q),
    Overload("is_quantity_string", "isQuantity(string)", "bool"),
    Overload("quantity_sign", f"sign({Q})", "int"),
    Overload("quantity_is_greater_than", f"{Q}.isGreaterThan({Q})", "bool"),
    Overload("quantity_is_less_than", f"{Q}.isLessThan({Q})", "bool"),
    Overload("quantity_compare_to", f"{Q}.compareTo({Q})", "int"),
    Overload("quantity_get_float", f"{Q}.asApproximateFloat()", "double"),
    Overload("quantity_get_int", f"{Q}.asInteger()", "int"),
    Overload("quantity_is_integer", f"{Q}.isInteger()", "bool"),
    Overload("quantity_add", f"{Q}.add({Q})", Q),
    Overload("quantity_add_int", f"{Q}.add(int)", Q),
    Overload("quantity_sub", f"{Q}.sub({Q})", Q),
    Overload("quantity_sub_int", f"{Q}.sub(int)", Q),
)
VERSIONS: Final = (
    Overload("string_to_semver", "semver(string)", V),
    Overload("string_bool_to_semver", "semver(string,bool)", V),
    Overload("is_semver_string", "isSemver(string)", "bool"),
    Overload("is_semver_string_bool", "isSemver(string,bool)", "bool"),
    Overload("semver_is_greater_than", f"{V}.isGreaterThan({V})", "bool"),
    Overload("semver_is_less_than", f"{V}.isLessThan({V})", "bool"),
    Overload("semver_compare_to", f"{V}.compareTo({V})", "int"),
    Overload("semver_major", f"{V}.major()", "int"),
    Overload("semver_minor", f"{V}.minor()", "int"),
    Overload("semver_patch", f"{V}.patch()", "int"),
)
URLS: Final = (
    Overload("string_to_url", "url(string)", U),
    Overload("is_url_string", "isURL(string)", "bool"),
    Overload("url_get_scheme", f"{U}.getScheme()", "string"),
    Overload("url_get_host", f"{U}.getHost()", "string"),
    Overload("url_get_hostname", f"{U}.getHostname()", "string"),
    Overload("url_get_port", f"{U}.getPort()", "string"),
    Overload("url_get_escaped_path", f"{U}.getEscapedPath()", "string"),
    Overload("url_get_query", f"{U}.getQuery()", "map<string,list<string>>"),
)
ADDRESSES: Final = (
    Overload("string_to_ip", "ip(string)", IP),
    Overload("is_ip", "isIP(string)", "bool"),
    Overload("ip_is_canonical", r"ip\.isCanonical(string)", "bool"),
    Overload("ip_family", f"{IP}.family()", "int"),
    Overload("ip_is_unspecified", f"{IP}.isUnspecified()", "bool"),
    Overload("ip_is_loopback", f"{IP}.isLoopback()", "bool"),
    Overload("ip_is_link_local_multicast", f"{IP}.isLinkLocalMulticast()", "bool"),
    Overload("ip_is_link_local_unicast", f"{IP}.isLinkLocalUnicast()", "bool"),
    Overload("ip_is_global_unicast", f"{IP}.isGlobalUnicast()", "bool"),
    Overload("string_to_cidr", "cidr(string)", CIDR),
    Overload("is_cidr", "isCIDR(string)", "bool"),
    Overload("cidr_contains_ip_string", f"{CIDR}.containsIP(string)", "bool"),
    Overload("cidr_contains_ip_ip", f"{CIDR}.containsIP({IP})", "bool"),
    Overload("cidr_contains_cidr_string", f"{CIDR}.containsCIDR(string)", "bool"),
    Overload("cidr_contains_cidr", f"{CIDR}.containsCIDR({CIDR})", "bool"),
    Overload("cidr_ip", f"{CIDR}.ip()", IP),
    Overload("cidr_prefix_length", f"{CIDR}.prefixLength()", "int"),
    Overload("cidr_masked", f"{CIDR}.masked()", CIDR),
)
FORMAT_NAMES: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
FORMATS: Final = (
    Overload("format-named", r"format\.named(string)", f"optional_type<{F}>"),
    Overload("format-validate", f"{F}.validate(string)", f"optional_type<{TEXTS}>"),
    *(Overload(f"format.{name}", rf"format\.{name}()", F) for name in FORMAT_NAMES),
)
REGEXES: Final = (
    Overload("string_find_string", "string.find(string)", "string"),
    Overload("string_find_all_string", "string.findAll(string)", TEXTS),
    Overload("string_find_all_string_int", "string.findAll(string,int)", TEXTS),
)
STRINGS: Final = (
    Overload("string_char_at_int", "string.charAt(int)", "string"),
    Overload("string_format", "string.format(list<dyn>)", "string"),
    Overload("string_index_of_string", "string.indexOf(string)", "int"),
    Overload("string_index_of_string_int", "string.indexOf(string,int)", "int"),
    Overload("list_join", f"{TEXTS}.join()", "string"),
    Overload("list_join_string", f"{TEXTS}.join(string)", "string"),
    Overload("string_last_index_of_string", "string.lastIndexOf(string)", "int"),
    Overload("string_last_index_of_string_int", "string.lastIndexOf(string,int)", "int"),
    Overload("string_lower_ascii", "string.lowerAscii()", "string"),
    Overload("strings_quote", r"strings\.quote(string)", "string"),
    Overload("string_replace_string_string", "string.replace(string,string)", "string"),
    Overload("string_replace_string_string_int", "string.replace(string,string,int)", "string"),
    Overload("string_split_string", "string.split(string)", TEXTS),
    Overload("string_split_string_int", "string.split(string,int)", TEXTS),
    Overload("string_substring_int", "string.substring(int)", "string"),
    Overload("string_substring_int_int", "string.substring(int,int)", "string"),
    Overload("string_trim", "string.trim()", "string"),
    Overload("string_upper_ascii", "string.upperAscii()", "string"),
)
INCLUDES: Final = Overload("list_includes_dyn_dyn", "dyn.includes(dyn)", "bool")
LIST_FUNCTIONS: Final = (
    Overload("list_a_index_of_int", f"{LIST}.indexOf(~T)", "int"),
    Overload("list_a_last_index_of_int", f"{LIST}.lastIndexOf(~T)", "int"),
    Overload("list_slice", f"{LIST}.slice(int,int)", LIST),
    Overload("list_flatten", "list<list<~T>>.flatten()", LIST),
    Overload("list_flatten_int", "list<dyn>.flatten(int)", "list<dyn>"),
    Overload("lists_range", r"lists\.range(int)", "list<int>"),
    Overload("list_reverse", f"{LIST}.reverse()", LIST),
    Overload("list_distinct", f"{LIST}.distinct()", LIST),
)
OPTIONALS: Final = (
    Overload("optional_unwrap", r"optional\.unwrap(list<optional_type<~T>>)", LIST),
    Overload("optional_unwrapOpt", "list<optional_type<~T>>.unwrapOpt()", LIST),
)
SUMMABLE: Final = ("int", "uint", "double", "duration")
COMPARABLE: Final = (*SUMMABLE, "bool", "timestamp", "string", "bytes")
FULL_NAMES: Final = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
}
NUMBERS: Final = {"int64": "int", "uint64": "uint", "double": "double"}
ORDERED: Final = ("bool", "string", "bytes", "timestamp", "duration")
COMPARISONS: Final = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}


def _list_operations() -> Iterator[Overload]:
    for kind in COMPARABLE:
        yield Overload(f"list_{kind}_is_sorted_bool", f"list<{kind}>.isSorted()", "bool")
        yield Overload(f"list_{kind}_max_{kind}", f"list<{kind}>.max()", kind)
        yield Overload(f"list_{kind}_min_{kind}", f"list<{kind}>.min()", kind)
        full = FULL_NAMES.get(kind, kind)
        yield Overload(f"list_{full}_sort", f"list<{kind}>.sort()", f"list<{kind}>")
    for kind in SUMMABLE:
        yield Overload(f"list_{kind}_sum_{kind}", f"list<{kind}>.sum()", kind)


def _comparisons() -> Iterator[Overload]:
    """Walk all overloads of the comparisons, to which Kubernetes adds those across types."""
    for operator, name in COMPARISONS.items():
        escaped = re.sub("([<>])", r"\\\1", operator)
        for left, left_kind in NUMBERS.items():
            for right, right_kind in NUMBERS.items():
                known = f"{name}_{left}" if left == right else f"{name}_{left}_{right}"
                yield Overload(known, f"{escaped}({left_kind},{right_kind})", "bool")
        for kind in ORDERED:
            yield Overload(f"{name}_{kind}", f"{escaped}({kind},{kind})", "bool")


def _conversions() -> Iterator[Overload]:
    """Walk all overloads of `string`, to which Kubernetes adds those for addresses."""
    for name, kind in (*NUMBERS.items(), *((kind, kind) for kind in ORDERED)):
        yield Overload(f"{name}_to_string", f"string({kind})", "string")
    yield Overload("ip_to_string", f"string({IP})", "string")
    yield Overload("cidr_to_string", f"string({CIDR})", "string")


REDECLARED: Final = ("string", *COMPARISONS)
"""CEL's own functions with more overloads here; the engine wants a function's all at once."""
FOR_LISTS: Final = "includes"
"""The family that is declared only where lists can be values of attributes."""
FAMILIES: Final[Mapping[str, tuple[Overload, ...]]] = MappingProxyType(
    {
        "quantities": QUANTITIES,
        "versions": VERSIONS,
        "urls": URLS,
        "addresses": ADDRESSES,
        "formats": FORMATS,
        "regexes": REGEXES,
        "strings": STRINGS,
        "lists": LIST_FUNCTIONS,
        "optionals": OPTIONALS,
        "sorting": tuple(_list_operations()),
        "comparisons": tuple(_comparisons()),
        "conversions": tuple(_conversions()),
        FOR_LISTS: (INCLUDES,),
    }
)
"""Overloads that are declared together; each of CEL's own functions is in one family."""


def by_function(overloads: Iterable[Overload]) -> dict[str, list[Overload]]:
    """Group overloads by the function that they belong to."""
    grouped: dict[str, list[Overload]] = {}
    for overload in overloads:
        grouped.setdefault(overload.function, []).append(overload)
    return grouped
