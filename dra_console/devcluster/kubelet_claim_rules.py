"""What the kubelet checks before and after it has claims prepared, apart from calling drivers.

Restates `node-agent.md` 2.1 and the resolution rule of `dra-semantics.md` 1.12.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dra_console.allocator.model import DeviceId, Node
from dra_console.allocator.world.nodes import selects
from dra_console.devcluster.claims import LifeCycleClaim
from dra_console.devcluster.kubelet_checkpoint import ClaimState
from dra_console.devcluster.kubelet_plugin import ClaimAnswer, ClaimReference, PreparedDevice
from dra_console.devcluster.pods import Container, Pod, PodClaim
from dra_console.devcluster.resourceclaim_rules import is_generated_for


class PrepareError(Exception):
    """A pod cannot start yet for its claims; it is tried again."""


def claim_name(pod_claim: PodClaim, *, pod: Pod) -> str | None:
    """Name the claim that an entry of the pod stands for; `None` = it needs none.

    Raises:
        PrepareError: the claim was not made yet.

    """
    if pod_claim.claim_name is not None:
        return pod_claim.claim_name
    if pod.needs_no_claim(pod_claim.name):
        return None
    name = pod.claim_names.get(pod_claim.name)
    if name is None:
        raise PrepareError(f'pod "{pod.key}": ResourceClaim for {pod_claim.name} not created yet')
    return name


def check_claim(claim: LifeCycleClaim, *, pod_claim: PodClaim, pod: Pod, node: Node) -> None:
    """Check that the pod may use the claim on this node.

    Raises:
        PrepareError: it may not, or not yet.

    """
    allocation = claim.claim.allocation
    if pod_claim.template_name is not None and not is_generated_for(claim, pod=pod):
        raise PrepareError(
            f"ResourceClaim {claim.key} was not created for pod {pod.key} (pod is not owner)"
        )
    if allocation is None:
        raise PrepareError(f"ResourceClaim {claim.key} is not allocated")
    if allocation.node_selector is not None and not selects(allocation.node_selector, node=node):
        raise PrepareError(
            f"ResourceClaim {claim.key} is allocated on other nodes than {node.name}"
        )
    if not claim.is_reserved_for(pod.uid):
        raise PrepareError(f"ResourceClaim {claim.key} is not reserved for pod {pod.key}")
    requests = {request.name for request in claim.claim.spec.requests}
    for container in pod.all_containers:
        for use in container.claims:
            if use.name == pod_claim.name and use.request not in {None, *requests}:
                raise PrepareError(
                    f"container {container.name}: ResourceClaim {claim.key} has no request"
                    f" {use.request}"
                )


def check_answers(
    answers: Mapping[str, ClaimAnswer], *, driver: str, asked: Collection[ClaimReference]
) -> None:
    """Check a driver's answer to a prepare call.

    Raises:
        PrepareError: a claim failed, is missing or was not asked for, or a device of it is
            not usable.

    """
    unknown = answers.keys() - {claim.uid for claim in asked}
    if unknown:
        raise PrepareError(
            f"driver {driver}: answer for unknown claim {', '.join(sorted(unknown))}"
        )
    for claim in asked:
        about = f"driver {driver}: ResourceClaim {claim.namespace}/{claim.name} ({claim.uid})"
        answer = answers.get(claim.uid)
        if answer is None:
            raise PrepareError(f"{about}: missing in the answer")
        if answer.error:
            raise PrepareError(f"{about}: {answer.error}")
        for device in answer.devices:
            if not device.pool or not device.device:
                raise PrepareError(f"{about}: a device without pool_name or device_name")
            for request in device.request_names:
                if "/" in request:
                    raise PrepareError(f"{about}: request name with a subrequest: {request}")


@dataclass(frozen=True, slots=True)
class ContainerDevice:
    """A prepared device that a container gets."""

    resource_name: str
    """`claim:<entry>` or `claim:<entry>/<request>`, as the container's status says."""

    device_id: DeviceId
    cdi_ids: tuple[str, ...]


def container_devices(
    container: Container, *, pod: Pod, states: Iterable[ClaimState]
) -> Iterator[ContainerDevice]:
    """Find the devices of a container: those of its claims, of the requests that it names.

    `states` are the claims of the pod. A container that names no claim gets nothing, even
    though the pod has claims.
    """
    of_pod = {
        state.reference.name: state
        for state in states
        if state.reference.namespace == pod.namespace and pod.uid in state.pod_uids
    }
    entries = {entry.name: entry for entry in pod.claims}
    for use in container.claims:
        name = claim_name(entries[use.name], pod=pod) if use.name in entries else None
        if name is None or name not in of_pod:
            continue
        resource_name = f"claim:{use.name}" + (f"/{use.request}" if use.request else "")
        for driver, devices in sorted(of_pod[name].devices.items()):
            for device in devices:
                if _serves(device, use.request):
                    device_id = DeviceId(driver, device.pool, device.device)
                    yield ContainerDevice(resource_name, device_id, device.cdi_ids)


def _serves(device: PreparedDevice, request: str | None) -> bool:
    return request is None or not device.request_names or request in device.request_names
