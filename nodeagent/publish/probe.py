"""Ask an API server what it would keep, by slices that are tried and not stored.

A dry run goes through the same dropping of fields and the same validation as a real write, and
costs neither etcd nor any scheduler anything. Without it, a device with a taint would be free for
everybody until the answer to its first write is there (node-agent.md 4.7; ADR 0027).
"""

from collections.abc import Callable
from typing import Final

from nodeagent.fields import Fields, JsonObject
from nodeagent.publish.features import Feature, Layout, lost_features
from nodeagent.publish.plan import Pool

COUNTER_SET: Final[JsonObject] = {"name": "probe", "counters": {"slices": {"value": "1"}}}
CONSUMER: Final[JsonObject] = {
    "name": "probe",
    "consumesCounters": [{"counterSet": "probe", "counters": {"slices": {"value": "1"}}}],
}
_MEMBERS: Final[dict[Feature, JsonObject]] = {
    Feature.TAINTS: {"taints": [{"key": "probe", "effect": "NoSchedule"}]},
    Feature.INFORMING_TAINTS: {"taints": [{"key": "probe", "effect": "None"}]},
    Feature.SHARES: {
        "allowMultipleAllocations": True,
        "capacity": {
            "probe": {
                "value": "2",
                "requestPolicy": {"default": "2", "validRange": {"min": "1", "step": "1"}},
            }
        },
    },
    Feature.LISTS: {"attributes": {"probe": {"ints": [0, 1]}}},
}

Try = Callable[[JsonObject], JsonObject]


def is_kept(feature: Feature, *, layout: Layout, pool: Pool, try_slice: Try) -> bool:
    """Tell whether a server keeps a feature, with counters in this layout.

    Raises:
        InvalidError: its validation refuses the feature in this form.
        KubeError: it gave no answer to that.

    """
    for members in _probes(feature, layout):
        spec: JsonObject = {
            "driver": pool.driver,
            "nodeName": pool.node_name,
            "pool": {"name": pool.name, "generation": 1, "resourceSliceCount": 1},
            **members,
        }
        body: JsonObject = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"generateName": f"probe-{pool.driver}-{pool.node_name}-"},
            "spec": spec,
        }
        answer = try_slice(body)
        if lost_features(spec, Fields(answer, "ResourceSlice").object("spec").value):
            return False
    return True


def _probes(feature: Feature, layout: Layout) -> tuple[JsonObject, ...]:
    if feature is not Feature.COUNTERS:
        return ({"devices": [{"name": "probe", **_MEMBERS[feature]}]},)
    sets: JsonObject = {"sharedCounters": [COUNTER_SET]}
    devices: JsonObject = {"devices": [CONSUMER]}
    return ({**sets, **devices},) if layout is Layout.MIXED else (sets, devices)
