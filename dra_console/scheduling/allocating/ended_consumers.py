"""Pods that have ended and still name a claim, which therefore cannot be reserved ahead.

kube-controller-manager reserves an allocated claim for every pod on a node that names it, and so
for one that has ended; it sees that next, and takes reservation and allocation back (seen on
Kubernetes 1.37). Whoever allocated again would do so every second until the pod is deleted.
"""

from dra_console.allocator.errors import DecodeError
from dra_console.mirror.models import Cluster, Pod
from dra_console.scheduling.allocating.pending import FINISHED
from dra_console.scheduling.allocating.pod_claims import claim_names_of


def ended_consumer(cluster: Cluster, claim_key: str) -> str:
    """Name a pod on a node that has ended and names the claim `namespace/name`; empty: none."""
    namespace, _, name = claim_key.partition("/")
    ended = Pod.objects.filter(cluster=cluster, namespace=namespace, phase__in=FINISHED)
    for pod in ended.exclude(node_name="").iterator():
        if _names(pod, name):
            return pod.name
    return ""


def _names(pod: Pod, claim_name: str) -> bool:
    try:
        return any(each == claim_name for _, each in claim_names_of(pod.raw))
    except DecodeError:
        return False
