"""The scenario that tries what an explanation suggests.

Reads a stored explanation (`allocator.explanation.folding`), before anything is taken out of it:
a claim that the reader may not see is known to the scenario by a device that it holds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dra_console.allocator.inventory import DeviceId
from dra_console.scheduling.whatif.edits import FreeClaim
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario


def pod_of_claims(keys: Sequence[tuple[str, str]]) -> PodShape:
    """Ask about claims that are there, by namespace and name."""
    return PodShape(tuple(ClaimSource(claim=key) for key in keys))


def suggested_scenario(
    suggestion: Mapping[str, Any],
    *,
    pod: PodShape,
    holders: Mapping[str, Any],
    rights: Rights,
) -> Scenario | None:
    """Apply one suggestion; `holders` are those of the explanation.

    Nothing where the explanation no longer says what the claim to wait for holds, or the
    suggestion is about a claim that the pod does not have.
    """
    holder = suggestion["holder"]
    if holder is not None:
        edit = _freed(holder, holders=holders, rights=rights)
        return None if edit is None else Scenario(edits=(edit,), pod=pod)
    patches = dict(suggestion["patches"])
    claims = []
    for source in pod.claims:
        key = "/".join(source.claim or ())
        claims.append(ClaimSource(claim=source.claim, patch=tuple(patches.pop(key, ()))))
    return None if patches else Scenario(pod=PodShape(tuple(claims)))


def _freed(
    holder: Mapping[str, Any], *, holders: Mapping[str, Any], rights: Rights
) -> FreeClaim | None:
    namespace, name = holder["namespace"], holder["name"]
    if rights.sees_claims(namespace):
        return FreeClaim(namespace, name)
    devices = holders.get(namespace, {}).get(name, ())
    if not devices:
        return None
    driver, _, rest = str(devices[0]).partition("/")
    pool, _, device = rest.rpartition("/")
    return FreeClaim(holding=DeviceId(driver, pool, device))
