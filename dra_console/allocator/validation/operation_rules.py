"""Rules for the calls on the node that a driver does without (1.37, alpha)."""

from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_unique

FIELD: Final = "skipNodeOperations"
PREPARE, UNPREPARE, ALL = "NodePrepareResources", "NodeUnprepareResources", "*"


def check_skipped_operations(owner: Fields, errors: FieldErrors) -> None:
    """Check the operations of a slice or of a result: nothing is prepared that stays behind."""
    operations, path = owner.texts(FIELD), owner.path_of(FIELD)
    for index, operation in enumerate(operations):
        if operation not in {PREPARE, UNPREPARE, ALL}:
            errors.not_supported(f"{path}[{index}]", operation, (ALL, PREPARE, UNPREPARE))
    check_unique(operations, errors, path=path)
    if PREPARE in operations and not {UNPREPARE, ALL} & {*operations}:
        errors.invalid(path, [*operations], f"{PREPARE} cannot be skipped without {UNPREPARE}")
