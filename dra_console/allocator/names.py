"""The API's formats of names and values; each function returns what is wrong, or nothing.

Names that are made of others (drivers, pools, attributes), whose length has a cause of its own,
are in `validation.formats`.
"""

import re
from collections.abc import Iterator
from typing import Final

from dra_console.allocator.semver import Semver, SemverError

LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253
IDENTIFIER_LIMIT: Final = 32
POOL_LIMIT: Final = 253
VALUE_LIMIT: Final = 64
NATIVE_DOMAIN: Final = "kubernetes.io/"
QUOTA_PREFIX: Final = "requests."


def size_bytes(text: str) -> int:
    """Count the bytes of a text as it is stored; half of a surrogate pair is one character."""
    return len(text.encode(errors="surrogatepass"))


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


def c_identifier(text: str) -> Iterator[str]:
    """Check the last part of an attribute's or capacity's name."""
    if not C_IDENTIFIER.fullmatch(text):
        yield "a valid C identifier must start with a letter or '_', and have letters, digits, '_'"


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
    """Check the name under which a class stands in for an extended resource.

    With `requests.` before it, it has to be a label's key, since so a quota names it.
    """
    if "/" not in text:
        yield "must be fully qualified, as in example.com/gpu"
    elif NATIVE_DOMAIN in text:
        yield f"must not be of the {NATIVE_DOMAIN} domain"
    if text.startswith(QUOTA_PREFIX):
        yield f"must not start with {QUOTA_PREFIX}"
    yield from label_key(f"{QUOTA_PREFIX}{text}")
