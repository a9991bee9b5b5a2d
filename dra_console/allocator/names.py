"""The API's formats of names and values; each function returns what is wrong, or nothing."""

import re
from collections.abc import Iterator
from typing import Final

from dra_console.allocator.semver import Semver, SemverError

LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
ANY_CASE_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?", re.ASCII)
C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253
IDENTIFIER_LIMIT: Final = 32
POOL_LIMIT: Final = 253
VALUE_LIMIT: Final = 64


def dns_label(text: str) -> Iterator[str]:
    """Check a request, device or counter name."""
    if not LABEL.fullmatch(text):
        yield (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
            "or '-', and must start and end with an alphanumeric character"
        )
    if len(text) > LABEL_LIMIT:
        yield f"must be no more than {LABEL_LIMIT} characters"


def dns_subdomain(text: str) -> Iterator[str]:
    """Check an object's or a class's name."""
    if not all(LABEL.fullmatch(part) for part in text.split(".")):
        yield (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric character"
        )
    if len(text) > SUBDOMAIN_LIMIT:
        yield f"must be no more than {SUBDOMAIN_LIMIT} characters"


def driver_name(text: str) -> Iterator[str]:
    """Check a driver's name, in which upper case is tolerated."""
    if not all(ANY_CASE_LABEL.fullmatch(part) for part in text.split(".")):
        yield "must be a DNS subdomain such as gpu.example.com"
    if len(text) > LABEL_LIMIT:
        yield f"must be no more than {LABEL_LIMIT} characters"


def pool_name(text: str) -> Iterator[str]:
    """Check a pool's name: subdomains joined by slashes."""
    if len(text) > POOL_LIMIT:
        yield f"must be no more than {POOL_LIMIT} characters"
    for part in text.split("/"):
        yield from dns_subdomain(part)


def c_identifier(text: str) -> Iterator[str]:
    """Check the last part of an attribute's or capacity's name."""
    if not C_IDENTIFIER.fullmatch(text):
        yield "a valid C identifier must start with a letter or '_', and have letters, digits, '_'"
    if len(text) > IDENTIFIER_LIMIT:
        yield f"must be no more than {IDENTIFIER_LIMIT} characters"


def qualified_name(text: str) -> Iterator[str]:
    """Check an attribute's or capacity's name, with or without a domain."""
    domain, slash, name = text.partition("/")
    if not slash:
        yield from c_identifier(text)
        return
    yield from driver_name(domain)
    yield from c_identifier(name)


def fully_qualified_name(text: str) -> Iterator[str]:
    """Check an attribute's name in a constraint, which has to have its domain."""
    if "/" not in text:
        yield "must include a domain, as in gpu.example.com/numa"
        return
    yield from qualified_name(text)


def label_key(text: str) -> Iterator[str]:
    """Check a taint's key."""
    prefix, slash, name = text.rpartition("/")
    if slash:
        yield from dns_subdomain(prefix)
    if not LABEL_NAME.fullmatch(name) or len(name) > LABEL_LIMIT:
        yield (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must "
            f"start and end with an alphanumeric character, at most {LABEL_LIMIT} characters"
        )


def label_value(text: str) -> Iterator[str]:
    """Check a taint's value, which may be empty."""
    if text and (not LABEL_NAME.fullmatch(text) or len(text) > LABEL_LIMIT):
        yield (
            "must be empty or consist of alphanumeric characters, '-', '_' or '.', at most "
            f"{LABEL_LIMIT} characters"
        )


def semantic_version(text: str) -> Iterator[str]:
    """Check a version attribute."""
    try:
        Semver.parse(text)
    except SemverError as error:
        yield str(error)


def extended_resource_name(text: str) -> Iterator[str]:
    """Check the name under which a class stands in for an extended resource."""
    if "/" not in text or text.startswith("requests."):
        yield "must be fully qualified, as in example.com/gpu"
    elif text.partition("/")[0].endswith("kubernetes.io"):
        yield "must not be of the kubernetes.io domain"
    else:
        yield from label_key(text)
