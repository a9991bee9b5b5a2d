"""Where a field belongs that the API does not have at the place where it was found."""

import re
from typing import Final

from dra_console.allocator.decoding.versions import (
    BASIC_BEFORE_V1BETA2,
    BASIC_SINCE_V1BETA2,
    BEFORE_V1BETA2,
    FLAT_REQUEST_FIELDS,
    SINCE_V1BETA2,
)

FLAT: Final = "|".join(FLAT_REQUEST_FIELDS)
HINTS: Final = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (rf"devices\.requests\[\d+\]\.({FLAT})$", f"{SINCE_V1BETA2}, or in firstAvailable"),
        (r"devices\.requests\[\d+\]\.exactly$", BEFORE_V1BETA2),
        (r"firstAvailable\[\d+\]\.adminAccess$", "admin access is for requests with exactly alone"),
        (r"^spec\.devices\[\d+\]\.basic$", BASIC_SINCE_V1BETA2),
        (
            r"^spec\.devices\[\d+\]\.(attributes|capacity|taints|consumesCounters)$",
            BASIC_BEFORE_V1BETA2,
        ),
        (
            r"^spec\.tolerations$",
            "tolerations belong in spec.devices.requests[i].exactly.tolerations",
        ),
        (
            r"^spec\.(resourceClassName|deviceClassName)$",
            "the class is named in spec.devices.requests[i].exactly.deviceClassName",
        ),
        (
            r"^spec\.(controller|parametersRef|suitableNodes|allocationMode)$",
            "this is of classic dynamic resource allocation, which is gone since 1.32",
        ),
        (
            r"^spec\.deviceSelector\.(deviceClassName|selectors)$",
            "since 1.35 a rule selects by driver, pool and device alone",
        ),
        (
            r"nodeAllocatableResourceMappings$",
            "since 1.37 this is nodeAllocatableResources, in another shape",
        ),
    )
)


def hint_for(path: str) -> str:
    """Return a sentence for an unknown field, the empty text if there is none."""
    return next((hint for pattern, hint in HINTS if pattern.search(path)), "")
