"""What became of a claim that could not be written, in kube-scheduler's words."""

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.scheduling.writing.claim_status import (
    allocation_of,
    is_deleting,
    is_same_allocation,
    name_of,
    version_of,
)
from dra_console.scheduling.writing.sending import Writer, read_claim


class ClaimChangedError(Exception):
    """The claim is not as it was planned with; `claim` is it as it is now, if it is still there."""

    def __init__(self, message: str, claim: JsonObject | None = None) -> None:
        """Take what became of it."""
        super().__init__(message)
        self.claim = claim


def changed_since(writer: Writer, claim: JsonObject, error: ApiError) -> ClaimChangedError:
    """Say what became of a claim that could not be written."""
    name = name_of(claim)
    try:
        live = read_claim(writer.client, claim)
    except (ConflictError, NotFoundError):
        return ClaimChangedError(f"claim {name} got deleted in the meantime")
    except ApiError:
        # What it is like now is not known; that it is not as planned is.
        return ClaimChangedError(f"claim {name} changed in the meantime: {error.message}")
    return ClaimChangedError(f"claim {name} {_what_changed(claim, live, error)}", live)


def _what_changed(claim: JsonObject, live: JsonObject, error: ApiError) -> str:
    allocation = allocation_of(live)
    if is_deleting(live):
        return "got deleted in the meantime"
    if allocation is None and allocation_of(claim) is not None:
        return "got deallocated in the meantime"
    if allocation is not None and not is_same_allocation(allocation, allocation_of(claim)):
        return "got allocated elsewhere in the meantime"
    if version_of(live) == version_of(claim):
        return f"could not be written: {error.message}"
    return "changed in the meantime"
