"""Rules for the kinds that admins write: DeviceClass and DeviceTaintRule."""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.claim_shapes import CLASS_CONFIG, SELECTORS
from dra_console.allocator.validation.config_rules import check_config
from dra_console.allocator.validation.equality import is_equal
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_driver_name,
    check_format,
    check_pool_name,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.selector_rules import check_selectors
from dra_console.allocator.validation.taint_rules import check_taint

CONFIG_LIMIT: Final = 32


def check_class_spec(
    spec: Fields, errors: FieldErrors, *, stored: Fields | None, rules: Rules
) -> None:
    """Check the spec of a class.

    Selectors that are stored so, in the same order, are not compiled again; stored
    configuration may be longer than what is accepted today.
    """
    before = {} if stored is None else stored.raw
    is_stored = stored is not None and is_equal(
        spec.raw.get("selectors"), before.get("selectors"), SELECTORS
    )
    check_selectors(spec, errors, is_stored=is_stored, rules=rules)
    configs = listed(spec, "config")
    is_stored = stored is not None and is_equal(
        spec.raw.get("config"), before.get("config"), CLASS_CONFIG
    )
    if not is_too_many(configs, CONFIG_LIMIT, errors, path=spec.path_of("config")):
        for config in configs:
            check_config(config, errors, is_stored=is_stored, known=None)
    name = spec.optional_text("extendedResourceName")
    if name is not None:
        path = spec.path_of("extendedResourceName")
        check_format(name, names.extended_resource_name, errors, path=path)


def check_taint_rule_spec(spec: Fields, errors: FieldErrors, *, stored: Fields | None) -> None:
    """Check selector and taint of a rule. A rule without selector is stored as it is."""
    selector = spec.child("deviceSelector")
    if selector is not None:
        driver, pool, device = (
            selector.optional_text(field) for field in ("driver", "pool", "device")
        )
        if driver is not None:
            check_driver_name(driver, errors, path=selector.path_of("driver"))
        if pool is not None:
            check_pool_name(pool, errors, path=selector.path_of("pool"))
        if device is not None:
            check_format(device, names.dns_label, errors, path=selector.path_of("device"))
    before = None if stored is None else stored.child("taint")
    check_taint(spec.child("taint") or Fields(spec.path_of("taint"), {}), errors, stored=before)
