"""One write of a claim, over the version that it is based on, and what became of it.

An answer that did not come leaves open whether the write happened. Then the claim is read
again. If it is unchanged the same write is sent once more: both name the same version, so at
most one of them can happen, however late the first one arrives.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, ConflictError, KubeconfigError, NotFoundError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing import points
from dra_console.scheduling.writing.claim_status import name_of, uid_of, version_of
from dra_console.scheduling.writing.points import WritePoint

SERVER_ERRORS: Final = range(500, 600)


class Holder(Protocol):
    """What a writer asks of the allocation lease (`dra_console.leases.Lease`)."""

    @property
    def fence(self) -> int: ...

    @property
    def is_lost(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: as whom, and under which lease."""

    client: Client
    lease: Holder

    def before(self, point: WritePoint) -> None:
        """Ask right before a write whether it may still be made.

        Raises:
            TurnOverError: somebody else may hold the lease by now.

        """
        points.before(point)
        if self.lease.is_lost:
            raise TurnOverError("the allocation lease is lost")


class UndecidedError(ApiError):
    """Whether the write happened is not known; `notes.settle` finds out."""


def is_certain(error: ApiError) -> bool:
    """Tell whether the write that failed so has surely not happened."""
    return isinstance(error, KubeconfigError) or (
        error.status != 0 and error.status not in SERVER_ERRORS
    )


def read_claim(client: Client, claim: JsonObject) -> JsonObject:
    """Read a claim anew.

    Raises:
        ConflictError: another claim has its name by now.
        NotFoundError: it is gone.

    """
    metadata = object_of(claim.get("metadata"))
    live = client.get(RESOURCE_CLAIMS, str(metadata["name"]), namespace=str(metadata["namespace"]))
    if uid_of(live) != uid_of(claim):
        raise ConflictError(f"claim {name_of(claim)} got deleted in the meantime")
    return live


def put_claim(
    writer: Writer,
    point: WritePoint,
    body: JsonObject,
    *,
    stands: Callable[[JsonObject], bool],
    subresource: str | None = None,
) -> JsonObject:
    """Put `body` over the version that it carries; return the claim as the server has it.

    `stands` tells of a claim that was read again whether it is as this write would have it.

    Raises:
        ConflictError: somebody else was first.
        NotFoundError: the claim is gone.
        UndecidedError: it may have happened or not.
        TurnOverError: the lease was lost before; it has not happened.
        ApiError: the server refused; it has not happened.

    """
    writer.before(point)
    try:
        stored = writer.client.replace(RESOURCE_CLAIMS, body, subresource=subresource)
    except ApiError as error:
        if is_certain(error):
            raise
        stored = _decide(writer, point, body, error, stands=stands, subresource=subresource)
    points.after(point)
    return stored


def _decide(  # noqa: PLR0913 - a write, and why it is in doubt
    writer: Writer,
    point: WritePoint,
    body: JsonObject,
    in_doubt: ApiError,
    *,
    stands: Callable[[JsonObject], bool],
    subresource: str | None,
) -> JsonObject:
    """Find out whether a write has happened, and send it once more if it has not."""
    live = _read_in_doubt(writer.client, body, in_doubt)
    if not stands(live) and version_of(live) == version_of(body):
        try:
            writer.before(point)
        except TurnOverError:
            # The first one may still be on its way: its note has to outlive this run.
            raise _undecided(in_doubt) from None
        try:
            return writer.client.replace(RESOURCE_CLAIMS, body, subresource=subresource)
        except ConflictError:
            live = _read_in_doubt(writer.client, body, in_doubt)
        except ApiError as error:
            raise _undecided(error) from error
    if stands(live):
        return live
    raise ConflictError(f"claim {name_of(body)} changed in the meantime")


def _read_in_doubt(client: Client, claim: JsonObject, in_doubt: ApiError) -> JsonObject:
    try:
        return read_claim(client, claim)
    except (ConflictError, NotFoundError):
        raise
    except ApiError as error:
        raise _undecided(in_doubt) from error


def _undecided(why: ApiError) -> UndecidedError:
    return UndecidedError(
        why.message, status=why.status, retry_after_seconds=why.retry_after_seconds
    )
