"""Field paths as somebody sees them who wrote an object in v1beta1.

The rules are checked on the v1 shape. The paths of errors are turned back, so that they point
at what the user wrote.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from dra_console.allocator.validation.field_errors import FieldError

EXACTLY: Final = re.compile(r"(devices\.requests\[\d+\])\.exactly(?=\.)")
DEVICE_FIELD: Final = re.compile(r"^(spec\.devices\[\d+\])\.(?!name\b)")


def in_flat_version(errors: Iterable[FieldError], *, kind: str) -> tuple[FieldError, ...]:
    """Give every error the path that its field has before v1beta2."""
    if kind == "ResourceSlice":
        return tuple(
            replace(error, field=DEVICE_FIELD.sub(r"\1.basic.", error.field)) for error in errors
        )
    return tuple(replace(error, field=EXACTLY.sub(r"\1", error.field)) for error in errors)
