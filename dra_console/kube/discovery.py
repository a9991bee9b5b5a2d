"""What an API server serves of a group, as it says itself.

The plain form of discovery (`APIGroup` and an `APIResourceList` for each version) is asked,
not the aggregated one: it answers for one group in two small requests, where the other
lists every kind of every group. The version number of the server tells nothing: versions
are switched on and off one by one (`--runtime-config`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.transport import Request


@dataclass(frozen=True, slots=True)
class Discovered:
    """The versions of one group, the newest first, and which kinds each of them has."""

    versions: tuple[str, ...]
    """Those that the server serves, whether we know them or not; none: not even the group."""

    plurals_by_version: Mapping[str, frozenset[str]]
    """For the versions that were asked about."""


def discover(
    ask: Callable[[Request], JsonObject], group: str, *, versions: Iterable[str]
) -> Discovered:
    """Look which of `versions` are served, and which kinds in each.

    Raises:
        ApiError: the server did not say.

    """
    try:
        answer = ask(_get(f"/apis/{group}"))
    except NotFoundError:
        return Discovered((), {})
    served = tuple(_texts(answer.get("versions"), "version", where=group))
    plurals: dict[str, frozenset[str]] = {}
    for version in versions:
        if version in served:
            plurals[version] = _plurals(ask, f"{group}/{version}")
    return Discovered(served, plurals)


def _plurals(ask: Callable[[Request], JsonObject], group_version: str) -> frozenset[str]:
    try:
        answer = ask(_get(f"/apis/{group_version}"))
    except NotFoundError:
        # Switched off between the two questions, or another API server answered this one.
        return frozenset()
    return frozenset(_texts(answer.get("resources"), "name", where=group_version))


def _get(path: str) -> Request:
    return Request("GET", path, repeats_harmlessly=True)


def _texts(entries: Json, name: str, *, where: str) -> list[str]:
    values = (
        [each.get(name) for each in entries or [] if isinstance(each, dict)]
        if (isinstance(entries, list | None))
        else [None]
    )
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise ApiError(f"discovery of {where}: expected entries with {name}, got {entries!r:.80}")
    return texts
