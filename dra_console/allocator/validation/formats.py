"""Checks of names, each with the cause that the API server gives.

Which characters a format allows is in `allocator.names`. Here is what depends on the place:
whether an empty name is missing or malformed, and whether a long one is too long or malformed.
The server is not of one mind about either.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors

Format = Callable[[str], Iterable[str]]
UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)


def check_format(value: str, found: Format, errors: FieldErrors, *, path: str) -> None:
    """Report all that is wrong with a value as invalid."""
    for detail in found(value):
        errors.invalid(path, value, detail)


def check_required(value: str, found: Format, errors: FieldErrors, *, path: str) -> None:
    """Report an empty value as missing, another as `check_format` does."""
    if value:
        check_format(value, found, errors, path=path)
    else:
        errors.required(path)


def check_driver_name(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check the name of a driver, which cannot be left out."""
    if not value:
        errors.required(path)
        return
    if names.size_bytes(value) > names.LABEL_LIMIT:
        errors.too_long(path, names.LABEL_LIMIT)
    check_format(value.lower(), names.dns_subdomain, errors, path=path)


def check_pool_name(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check the name of a pool: subdomains joined by slashes."""
    if not value:
        errors.required(path)
        return
    if names.size_bytes(value) > names.POOL_LIMIT:
        errors.too_long(path, names.POOL_LIMIT)
    for part in value.split("/"):
        for detail in names.dns_subdomain(part):
            errors.invalid(path, value, detail)


def check_c_identifier(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check the last part of an attribute's or capacity's name."""
    if names.size_bytes(value) > names.IDENTIFIER_LIMIT:
        errors.too_long(path, names.IDENTIFIER_LIMIT)
    check_format(value, names.c_identifier, errors, path=path)


def check_qualified_name(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check an attribute's or capacity's name, with or without a domain.

    A name with two slashes passes: the server lets it pass too, and stored objects have them.
    No constraint or selector can reach such an attribute.
    """
    domain, slash, name = value.partition("/")
    if not slash:
        check_c_identifier(value, errors, path=path)
    elif "/" not in name:
        if domain:
            check_driver_name(domain, errors, path=path)
        else:
            errors.invalid(path, value, "the domain must not be empty")
        if name:
            check_c_identifier(name, errors, path=path)
        else:
            errors.invalid(path, value, "the name must not be empty")


def check_fully_qualified_name(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check an attribute's name where it has to have its domain, as in constraints."""
    domain, slash, name = value.partition("/")
    if not slash:
        errors.invalid(path, value, "must include a domain, as in gpu.example.com/numa")
    elif "/" not in name and domain != domain.lower():
        errors.invalid(path, value, "the domain must be in lower case here")
    check_qualified_name(value, errors, path=path)


def check_uuid(value: str, errors: FieldErrors, *, path: str) -> None:
    """Check the id of a share."""
    if not UUID.fullmatch(value):
        errors.invalid(path, value, "must be a UUID in lower case, in groups of 8-4-4-4-12")


def is_too_many(entries: Sequence[object], limit: int, errors: FieldErrors, *, path: str) -> bool:
    """Report a list that is too long; nobody looks at its entries then."""
    if len(entries) <= limit:
        return False
    errors.too_many(path, len(entries), limit)
    return True


def check_unique(keys: Iterable[object], errors: FieldErrors, *, path: str) -> None:
    """Report each entry of a list whose key occurred before; a key of parts is a tuple."""
    seen: set[object] = set()
    for index, key in enumerate(keys):
        if key in seen:
            shown = "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
            errors.duplicate(f"{path}[{index}]", shown)
        seen.add(key)


def listed(fields: Fields, key: str) -> tuple[Fields, ...]:
    """Return the objects of a list."""
    return tuple(fields.children(key))
