"""The scenario that tries what an explanation suggests.

Reads an explanation as it is stored (`allocator.explanation.folding`), before anything is taken
out of it: a claim that the reader may not see is known to the scenario by a device that it holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_console.allocator.inventory import DeviceId
from dra_console.scheduling.whatif.edits import FreeClaim
from dra_console.scheduling.whatif.fitting import SIMULATED
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario


def pod_of_claims(keys: Sequence[tuple[str, str]]) -> PodShape:
    """Ask about claims that are there, by namespace and name."""
    return PodShape(tuple(ClaimSource(claim=key) for key in keys))


def suggested_scenario(
    suggestion: Mapping[str, Any],
    scenario: Scenario,
    *,
    keys: Sequence[str],
    holders: Mapping[str, Any],
    rights: Rights,
) -> Scenario | None:
    """Apply one suggestion to the scenario that was explained.

    `keys` are those under which the explanation knows the claims of the pod, in their order, and
    `holders` are its own. Nothing where it no longer says what the claim to wait for holds, where
    that claim is part of the scenario alone, or where a change is about no claim of the pod.
    """
    holder = suggestion["holder"]
    if holder is not None:
        edit = _freed(holder, holders=holders, rights=rights)
        return None if edit is None else replace(scenario, edits=(*scenario.edits, edit))
    if scenario.pod is None:
        return None
    patches = dict(suggestion["patches"])
    claims = tuple(
        replace(source, patch=(*source.patch, *patches.pop(key, ())))
        for source, key in zip(scenario.pod.claims, keys, strict=True)
    )
    return None if patches else replace(scenario, pod=PodShape(claims))


def _freed(
    holder: Mapping[str, Any], *, holders: Mapping[str, Any], rights: Rights
) -> FreeClaim | None:
    namespace, name = holder["namespace"], holder["name"]
    if str(holder["uid"]).startswith(SIMULATED):
        return None
    if rights.sees_claims(namespace):
        return FreeClaim(namespace, name)
    devices = holders.get(namespace, {}).get(name, ())
    if not devices:
        return None
    driver, _, rest = str(devices[0]).partition("/")
    pool, _, device = rest.rpartition("/")
    return FreeClaim(holding=DeviceId(driver, pool, device))
