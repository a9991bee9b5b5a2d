"""Rules for a new allocation in the status of a claim.

One that is stored already is never looked at again: the rules have become tighter over time.
"""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.allocation import ConfigSource
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.config_rules import check_config
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_driver_name,
    check_format,
    check_pool_name,
    check_uuid,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.node_selector_rules import check_node_selector
from dra_console.allocator.validation.operation_rules import check_skipped_operations
from dra_console.allocator.validation.request_names import RequestNames
from dra_console.allocator.validation.taint_rules import (
    check_binding_conditions,
    check_toleration,
)

RESULTS_LIMIT: Final = 32
CONFIG_LIMIT: Final = 64
SOURCES: Final = tuple(sorted(ConfigSource))


def check_allocation(allocation: Fields, errors: FieldErrors, *, known: RequestNames) -> None:
    """Check results, configuration and node selector; `known` are the requests of the claim."""
    devices = allocation.child("devices") or Fields(allocation.path_of("devices"), {})
    results, configs = listed(devices, "results"), listed(devices, "config")
    if not is_too_many(results, RESULTS_LIMIT, errors, path=devices.path_of("results")):
        for result in results:
            _check_result(result, errors, known=known)
    if not is_too_many(configs, CONFIG_LIMIT, errors, path=devices.path_of("config")):
        for config in configs:
            _check_source(config, errors)
            check_config(config, errors, known=known)
    selector = allocation.child("nodeSelector")
    if selector is not None:
        check_node_selector(selector, errors)


def _check_result(result: Fields, errors: FieldErrors, *, known: RequestNames) -> None:
    known.check_reference(result.text("request"), errors, path=result.path_of("request"))
    check_device_id(result, errors)
    check_binding_conditions(result, errors)
    for toleration in result.children("tolerations"):
        check_toleration(toleration, errors)
    check_skipped_operations(result, errors)


def check_device_id(owner: Fields, errors: FieldErrors) -> None:
    """Check the four fields that name an allocated device."""
    check_driver_name(owner.text("driver"), errors, path=owner.path_of("driver"))
    check_pool_name(owner.text("pool"), errors, path=owner.path_of("pool"))
    check_format(owner.text("device"), names.dns_label, errors, path=owner.path_of("device"))
    share = owner.optional_text("shareID")
    if share is not None:
        check_uuid(share, errors, path=owner.path_of("shareID"))


def _check_source(config: Fields, errors: FieldErrors) -> None:
    source, path = config.text("source"), config.path_of("source")
    if not source:
        errors.required(path)
    elif source not in SOURCES:
        errors.not_supported(path, source, SOURCES)
