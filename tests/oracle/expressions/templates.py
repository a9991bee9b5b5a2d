"""What expressions are made of, by the type that they have.

`<<int>>` stands for an expression of that type, `<<TEXT>>` for one of the constants below.
"""

from collections.abc import Mapping
from typing import Final

DRIVER: Final = "gpu.example.com"
OTHER_DOMAIN: Final = "dra.example.com"
UNKNOWN_DOMAIN: Final = "un.known"
NAMES: Final = ("model", "count", "healthy", "version", "names", "numbers", "flags", "versions")
"""Attributes; devices mostly publish the type that the name promises."""


def _quoted(*texts: str) -> tuple[str, ...]:
    return tuple(f'"{text}"' for text in texts)


TEXTS: Final = ("", "a", "H100", "h100", "fish", "1.2.3", "10.0.0.1", "x-y", "1", "\u00e9t\u00e9")
AMOUNTS: Final = ("0", "1", "1Ki", "40Gi", "80Gi", "500m", "1.5", "1e3", "-2")
VERSIONS: Final = ("1.0.0", "1.2.3", "1.2.3-rc.1")

CONSTANTS: Final[Mapping[str, tuple[str, ...]]] = {
    "TEXT": _quoted(*TEXTS),
    "INT": ("0", "1", "2", "-3", "40", "9223372036854775807", "64"),
    "DOUBLE": ("0.5", "1.0", "-2.25", "40.0", "1e300"),
    "AMOUNT": _quoted(*AMOUNTS, "1gi", "x"),
    "VERSION": _quoted(*VERSIONS, "v1.2", "1.2", "01.2.3", "2.0.0+build", "1-rc", "x"),
    "ADDRESS": _quoted(
        "10.0.0.1", "::1", "127.0.0.1", "fe80::1", "224.0.0.5", "::ffff:1.2.3.4", "010.0.0.1", "x"
    ),
    "NETWORK": _quoted("10.0.0.0/8", "10.1.2.3/24", "fe80::/10", "::/0", "10.0.0.0/33", "x"),
    "URL": _quoted(
        "http://a.b:80/c?d=e&d=f", "/a/b", "https://[::1]:443", "http://u:p@h/%20", "a:b", "x"
    ),
    "PATTERN": _quoted(
        "^H", "[0-9]+", "(a|b)", "a*", ".", "(?i)h", "H(1)(0)", "(", r"\\d", "\u00e9"
    ),
    "FORMAT": (
        "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue",
        "dns1123LabelPrefix", "uri", "uuid", "byte", "date", "datetime",
    ),
    "DOMAIN": (f'"{DRIVER}"',) * 3 + (f'"{OTHER_DOMAIN}"', f'"{UNKNOWN_DOMAIN}"'),
    "NAME": (*NAMES, "none"),
    "CAPACITY": ("memory", "cores", "none"),
    "COMPARE": ("<", "<=", ">", ">="),
}  # fmt: skip

LEAVES: Final[Mapping[str, tuple[str, ...]]] = {
    "bool": (
        "true", "false", "<<attribute>>", "device.allowMultipleAllocations",
        f'device.driver == "{DRIVER}"',
    ),
    "int": ("<<INT>>",),
    "double": ("<<DOUBLE>>",),
    "string": ("<<TEXT>>", "device.driver", "<<TEXT>>"),
    "quantity": ("quantity(<<AMOUNT>>)", "device.capacity[<<DOMAIN>>].<<CAPACITY>>"),
    "semver": ("semver(<<VERSION>>)", "semver(<<VERSION>>, true)"),
    "ip": ("ip(<<ADDRESS>>)",),
    "cidr": ("cidr(<<NETWORK>>)",),
    "url": ("url(<<URL>>)",),
    "strings": ("[<<TEXT>>]", "[<<TEXT>>, <<TEXT>>]", "[<<TEXT>>, <<TEXT>>, <<TEXT>>]"),
    "ints": ("[<<INT>>]", "[<<INT>>, <<INT>>]", "[<<INT>>, <<INT>>, <<INT>>]"),
    "attribute": (
        "device.attributes[<<DOMAIN>>].<<NAME>>", 'device.attributes[<<DOMAIN>>]["<<NAME>>"]'
    ),
    "optional": ("optional.none()", "optional.of(<<TEXT>>)",
                 "device.attributes[<<DOMAIN>>].?<<NAME>>"),
}  # fmt: skip
"""What an expression is when it may not be any deeper."""

BRANCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "bool": (
        "<<bool>> && <<bool>>", "<<bool>> || <<bool>>", "!(<<bool>>)", "(<<bool>>)",
        "<<bool>> ? <<bool>> : <<bool>>", "<<int>> == <<int>>", "<<string>> == <<string>>",
        "<<int>> <<COMPARE>> <<int>>", "<<double>> <<COMPARE>> <<int>>",
        "<<string>> <<COMPARE>> <<string>>", "<<attribute>> <<COMPARE>> <<int>>",
        "<<attribute>> <<COMPARE>> <<attribute>>", "<<attribute>> == <<int>>",
        "<<attribute>> == <<string>>", "<<attribute>> != <<attribute>>",
        "<<attribute>> == <<semver>>", "<<attribute>> == <<bool>>", "<<semver>> == <<semver>>",
        "<<quantity>> == <<quantity>>", "<<attribute>> in <<ints>>",
        "<<attribute>> in <<strings>>", "<<string>> in <<attribute>>", "<<int>> in <<ints>>",
        "<<string>> in <<strings>>", "<<quantity>>.isGreaterThan(<<quantity>>)",
        "<<quantity>>.isLessThan(<<quantity>>)", "<<quantity>>.compareTo(<<quantity>>) >= 0",
        "<<quantity>>.isInteger()", "<<semver>>.isGreaterThan(<<semver>>)",
        "<<semver>>.compareTo(<<semver>>) < <<int>>", "<<attribute>>.isLessThan(<<semver>>)",
        "<<attribute>>.includes(<<string>>)", "<<attribute>>.includes(<<attribute>>)",
        "<<strings>>.includes(<<string>>)", "isQuantity(<<string>>)", "isSemver(<<string>>)",
        "isSemver(<<string>>, <<bool>>)", "<<string>>.startsWith(<<string>>)",
        "<<string>>.endsWith(<<string>>)", "<<string>>.contains(<<string>>)",
        "<<attribute>>.startsWith(<<string>>)", "<<string>>.matches(<<PATTERN>>)",
        "<<attribute>>.matches(<<PATTERN>>)", "has(device.attributes[<<DOMAIN>>].<<NAME>>)",
        '"<<NAME>>" in device.attributes[<<DOMAIN>>]', "<<DOMAIN>> in device.attributes",
        "device.attributes[<<DOMAIN>>].?<<NAME>>.orValue(<<bool>>)", "<<optional>>.hasValue()",
        "isIP(<<string>>)", "isCIDR(<<string>>)", "isURL(<<string>>)",
        "<<cidr>>.containsIP(<<ip>>)", "<<cidr>>.containsIP(<<string>>)",
        "<<cidr>>.containsCIDR(<<cidr>>)", "<<ip>> == <<ip>>", "<<ip>>.isLoopback()",
        "<<ip>>.isGlobalUnicast()", "<<ip>>.isLinkLocalMulticast()", "<<ip>>.isUnspecified()",
        "<<ip>>.isLinkLocalUnicast()", "ip.isCanonical(<<string>>)",
        "format.<<FORMAT>>().validate(<<string>>).hasValue()",
        "format.named(<<string>>).hasValue()", "<<ints>>.isSorted()", "<<strings>>.isSorted()",
        "<<ints>> == <<ints>>", "<<strings>> == <<strings>>", "sets.contains(<<ints>>, <<ints>>)",
        "sets.intersects(<<strings>>, <<strings>>)", "sets.equivalent(<<ints>>, <<ints>>)",
        "sets.contains(<<attribute>>, <<strings>>)", "type(<<attribute>>) == string",
        "bool(<<string>>)", "device.capacity.size() > <<int>>", "dyn(<<attribute>>) == <<int>>",
        "<<attribute>>[<<int>>] == <<string>>", 'duration(<<string>>) < duration("1h")',
        'timestamp(<<int>>) < timestamp("2020-01-01T00:00:00Z")',
        "cel.bind(d, device.attributes[<<DOMAIN>>], has(d.model) && d.model == <<TEXT>>)",
        'device.attributes[<<DOMAIN>>].exists(k, k == "model")',
        'device.attributes.exists(k, k.startsWith("dra"))',
        "device.attributes[<<string>>].size() > 0", "cel.bind(d, device, d.driver.size() > 0)",
        "device.attributes[?<<DOMAIN>>].?model.orValue(<<string>>) == <<TEXT>>",
        "device.capacity[<<DOMAIN>>].all(k, v, sign(v) >= 0)",
        "device.attributes.all(d, m, m.size() < 9)", "<<macro>>", "<<macro>>", "<<macro>>",
        "<<bind>>",
    ),
    "int": (
        "<<int>> + <<int>>", "<<int>> - <<int>>", "<<int>> * <<int>>", "<<int>> / <<int>>",
        "<<int>> % <<int>>", "-(<<int>>)", "<<string>>.size()", "size(<<strings>>)",
        "<<string>>.indexOf(<<string>>)", "<<string>>.lastIndexOf(<<string>>)",
        "<<string>>.indexOf(<<string>>, <<int>>)", "<<ints>>.sum()", "<<ints>>.max()",
        "<<ints>>.min()", "<<ints>>.indexOf(<<int>>)", "<<strings>>.lastIndexOf(<<string>>)",
        "<<quantity>>.asInteger()", "sign(<<quantity>>)", "<<quantity>>.compareTo(<<quantity>>)",
        "<<semver>>.major()", "<<semver>>.minor()", "<<semver>>.patch()",
        "<<semver>>.compareTo(<<semver>>)", "int(<<string>>)", "int(<<double>>)",
        "<<ip>>.family()", "<<cidr>>.prefixLength()", "<<ints>>[<<int>>]",
        "<<bool>> ? <<int>> : <<int>>", "<<attribute>>.size()", "size(<<attribute>>)",
    ),
    "double": (
        "<<double>> + <<double>>", "<<double>> / <<double>>", "double(<<string>>)",
        "double(<<int>>)", "<<quantity>>.asApproximateFloat()", "-<<double>>",
    ),
    "string": (
        "<<string>> + <<string>>", "<<string>>.lowerAscii()", "<<string>>.upperAscii()",
        "<<string>>.trim()", "<<string>>.substring(<<int>>)",
        "<<string>>.substring(<<int>>, <<int>>)", "<<string>>.charAt(<<int>>)",
        "<<string>>.replace(<<string>>, <<string>>)",
        "<<string>>.replace(<<string>>, <<string>>, <<int>>)", "<<strings>>.join()",
        "<<strings>>.join(<<string>>)", "strings.quote(<<string>>)", "<<string>>.find(<<PATTERN>>)",
        "string(<<int>>)", "string(<<double>>)", "string(<<bool>>)", "string(<<ip>>)",
        "string(<<cidr>>)", "<<strings>>[<<int>>]", "<<bool>> ? <<string>> : <<string>>",
        '"%s-%d".format([<<string>>, <<int>>])', '"%s".format([<<attribute>>])',
        '"%x %b".format([<<int>>, <<bool>>])', "<<url>>.getHost()", "<<url>>.getScheme()",
        "<<url>>.getPort()", "<<url>>.getHostname()", "<<url>>.getEscapedPath()",
        "string(<<attribute>>)", "<<strings>>.max()",
    ),
    "quantity": (
        "<<quantity>>.add(<<quantity>>)", "<<quantity>>.sub(<<quantity>>)",
        "<<quantity>>.add(<<int>>)", 'device.capacity[<<DOMAIN>>]["<<CAPACITY>>"]',
        "quantity(<<string>>)",
    ),
    "semver": ("semver(<<VERSION>>, false)", "semver(<<string>>)"),
    "ip": ("<<cidr>>.ip()", "ip(<<string>>)"),
    "cidr": ("<<cidr>>.masked()", "cidr(<<NETWORK>>)"),
    "url": ("url(<<string>>)", "url(<<URL>>)"),
    "strings": (
        "[<<string>>, <<string>>]", "[<<string>>]", "<<string>>.split(<<string>>)",
        "<<string>>.split(<<string>>, <<int>>)", "<<string>>.findAll(<<PATTERN>>)",
        "<<string>>.findAll(<<PATTERN>>, <<int>>)", "<<strings>> + <<strings>>",
        "<<strings>>.distinct()", "<<strings>>.sort()", "<<strings>>.reverse()",
        "<<strings>>.slice(<<int>>, <<int>>)", "<<strings>>.map(m, m + <<string>>)",
        "[[<<string>>], [<<string>>]].flatten()", "<<strings>>.filter(m, m != <<string>>)",
        "[?<<optional>>]",
    ),
    "ints": (
        "[<<int>>, <<int>>]", "[<<int>>]", "<<ints>> + <<ints>>", "lists.range(<<int>>)",
        "<<ints>>.reverse()", "<<strings>>.map(m, m.size())", "<<ints>>.filter(m, m > <<int>>)",
        "<<ints>>.map(m, m > <<int>>, m * 2)", "<<ints>>.distinct()", "<<ints>>.sort()",
        "<<ints>>.transformList(i, m, i + m)",
    ),
    "attribute": (
        "device.attributes[<<DOMAIN>>].<<NAME>>", "device.attributes[<<DOMAIN>>].<<NAME>>",
        "device.attributes[<<DOMAIN>>].?<<NAME>>.orValue(<<TEXT>>)",
    ),
    "optional": (
        "optional.of(<<string>>)", "optional.ofNonZeroValue(<<string>>)",
        "device.attributes[<<DOMAIN>>].?<<NAME>>", "<<optional>>.or(<<optional>>)",
        '{"a": <<string>>}[?<<string>>]', '{"a": <<string>>}.?a',
        "optional.of(<<string>>).optMap(o, o + <<string>>)", "<<strings>>[?<<int>>]",
        "<<strings>>.first()",
    ),
}  # fmt: skip
TYPES: Final = tuple(LEAVES)
ELEMENTS: Final = {"ints": "int", "strings": "string", "attribute": "attribute"}
"""What a macro can go along, and the type of its variable."""
