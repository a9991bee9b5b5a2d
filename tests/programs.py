"""Programs that tests start and that the machine may lack."""

import os
import shutil

import pytest


def need(program: str, *places: str) -> str:
    """Return the program's path, or skip the test (fail under `CI=true`)."""
    candidates = [shutil.which(program), *places]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    reason = f"{program} is not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and CI=true allows no skip")
    pytest.skip(reason)
