"""Scenarios that a plain backtracking search cannot finish in time.

Many devices alike, and a claim that fails only after many of them are picked.
"""

from dra_console.allocator.api_json import Json, JsonObject
from tests.oracle.generator.chance import Chance


def hard_slices(chance: Chance) -> list[JsonObject]:
    """Make one pool of dozens of devices; no attribute value is there often enough."""
    devices: list[Json] = [
        {
            "name": f"dev-{number}",
            "attributes": {
                "model": {"string": chance.pick("xyz")},
                "board": {"int": number % chance.pick((3, 4, 5))},
            },
        }
        for number in range(chance.between(18, 40))
    ]
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "many"},
            "spec": {
                "driver": "a.io",
                "pool": {"name": "p0", "generation": 1, "resourceSliceCount": 1},
                "allNodes": True,
                "devices": devices,
            },
        }
    ]


def hard_claims(chance: Chance) -> list[JsonObject]:
    """Make one claim that needs more devices of one value than there may be."""
    count = chance.between(6, 14)
    exactly: JsonObject = {"deviceClassName": "a", "count": count}
    if chance.maybe(0.5):
        requests: list[Json] = [{"name": "r0", "exactly": exactly}]
    else:
        single: JsonObject = {"deviceClassName": "a"}
        requests = [{"name": f"r{number}", "exactly": single} for number in range(count)]
    attribute = chance.pick(("a.io/board", "a.io/model"))
    kind = chance.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c0", "namespace": "team"},
            "spec": {"devices": {"requests": requests, "constraints": [{kind: attribute}]}},
        }
    ]
