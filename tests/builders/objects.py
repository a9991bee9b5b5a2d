"""API objects as the API server would send them: defaults for what does not matter.

State what the test is about, leave the rest. Defaults fit together: `a_device` in `a_slice`
on `a_node` matches `a_class`, which `a_claim` asks for.
"""

import hashlib

from dra_console.allocator.model import Json, JsonObject

DRIVER = "gpu.nvidia.com"
CLASS = "gpu.nvidia.com"
NODE = "gpu-01"
NAMESPACE = "team-research"
GROUP_VERSION = "resource.k8s.io/v1"


def a_uid(name: str) -> str:
    """Make a stable UID-shaped text from a name."""
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
    return f"00000000-0000-4000-8000-{number:012x}"


def an_object(
    kind: str,
    name: str,
    *,
    api_version: str = GROUP_VERSION,
    namespace: str | None = None,
    **body: Json,
) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "uid": a_uid(f"{kind}/{namespace}/{name}"),
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-29T20:00:00Z",
    }
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def unborn(one: JsonObject) -> JsonObject:
    """Take off what a server gives an object, so that it can be created."""
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    given = {"uid", "resourceVersion", "creationTimestamp"}
    kept: JsonObject = {key: value for key, value in metadata.items() if key not in given}
    return {**one, "metadata": kept}


def a_node(name: str = NODE, **labels: str) -> JsonObject:
    node = an_object("Node", name, api_version="v1", spec={}, status={})
    metadata = node["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] = {"kubernetes.io/hostname": name, **labels}
    return node


def a_namespace(name: str = NAMESPACE, **labels: str) -> JsonObject:
    namespace = an_object("Namespace", name, api_version="v1", spec={}, status={"phase": "Active"})
    metadata = namespace["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] = {"kubernetes.io/metadata.name": name, **labels}
    return namespace


def an_attribute(value: Json) -> Json:
    """Wrap a plain value as the API does; a dict is taken to be wrapped already."""
    match value:
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case str():
            return {"string": value}
        case _:
            return value


def a_device(
    name: str = "gpu-0",
    *,
    memory: str | None = "80Gi",
    attributes: dict[str, Json] | None = None,
    consumes: dict[str, dict[str, str]] | None = None,
    taints: list[Json] | None = None,
    **fields: Json,
) -> JsonObject:
    """Build a device; `consumes` is counter set to counter to amount."""
    device: JsonObject = {
        "name": name,
        "attributes": {key: an_attribute(value) for key, value in (attributes or {}).items()},
        **fields,
    }
    if memory is not None:
        device.setdefault("capacity", {"memory": {"value": memory}})
    if consumes:
        device["consumesCounters"] = [
            a_counter_set(each, consumes[each], key="counterSet") for each in consumes
        ]
    if taints:
        device["taints"] = taints
    return device


def a_counter_set(name: str, counters: dict[str, str], *, key: str = "name") -> JsonObject:
    return {key: name, "counters": {each: {"value": amount} for each, amount in counters.items()}}


def a_taint(
    key: str = "gpu.nvidia.com/xid", value: str = "79", effect: str = "NoSchedule"
) -> JsonObject:
    return {"key": key, "value": value, "effect": effect, "timeAdded": "2026-11-29T09:12:00Z"}


def a_slice(  # noqa: PLR0913  a builder has one default for each thing a test may state
    name: str | None = None,
    *,
    node: str | None = NODE,
    pool: str | None = None,
    driver: str = DRIVER,
    devices: list[JsonObject] | None = None,
    generation: int = 1,
    slice_count: int = 1,
    **spec: Json,
) -> JsonObject:
    """Build a slice; give `node=None` and `allNodes=True` (or another reach) for shared devices."""
    pool = pool or node or "shared"
    if node is not None:
        spec["nodeName"] = node
    if "sharedCounters" not in spec:
        spec["devices"] = [*(devices if devices is not None else [a_device()])]
    return an_object(
        "ResourceSlice",
        name or f"{pool}-{driver}",
        spec={
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": slice_count},
            **spec,
        },
    )


def a_selector(expression: str) -> JsonObject:
    return {"cel": {"expression": expression}}


def a_class(
    name: str = CLASS, *, selectors: list[str] | None = None, driver: str = DRIVER, **spec: Json
) -> JsonObject:
    expressions = [f'device.driver == "{driver}"'] if selectors is None else selectors
    return an_object(
        "DeviceClass", name, spec={"selectors": [a_selector(each) for each in expressions], **spec}
    )


def a_wish(
    *, device_class: str = CLASS, selectors: list[str] | None = None, **fields: Json
) -> JsonObject:
    """Build what stands under `exactly` or in `firstAvailable`, with the server's defaults."""
    wish: JsonObject = {"deviceClassName": device_class, "allocationMode": "ExactCount", **fields}
    if wish["allocationMode"] == "ExactCount":
        wish.setdefault("count", 1)
    if selectors:
        wish["selectors"] = [a_selector(each) for each in selectors]
    return wish


def a_request(
    name: str = "gpu",
    *,
    device_class: str = CLASS,
    selectors: list[str] | None = None,
    **fields: Json,
) -> JsonObject:
    return {
        "name": name,
        "exactly": a_wish(device_class=device_class, selectors=selectors, **fields),
    }


def a_prioritized_request(name: str = "gpu", **alternatives: JsonObject) -> JsonObject:
    """Build a request with `firstAvailable`; each keyword is an alternative's name."""
    return {
        "name": name,
        "firstAvailable": [{"name": each, **wish} for each, wish in alternatives.items()],
    }


def a_claim_spec(
    requests: list[JsonObject] | None = None,
    *,
    constraints: list[JsonObject] | None = None,
    config: list[JsonObject] | None = None,
) -> JsonObject:
    devices: JsonObject = {"requests": [*(requests if requests is not None else [a_request()])]}
    if constraints:
        devices["constraints"] = [*constraints]
    if config:
        devices["config"] = [*config]
    return {"devices": devices}


def a_claim(  # noqa: PLR0913  a builder has one default for each thing a test may state
    name: str = "train",
    *,
    namespace: str = NAMESPACE,
    requests: list[JsonObject] | None = None,
    constraints: list[JsonObject] | None = None,
    config: list[JsonObject] | None = None,
    status: JsonObject | None = None,
) -> JsonObject:
    return an_object(
        "ResourceClaim",
        name,
        namespace=namespace,
        spec=a_claim_spec(requests, constraints=constraints, config=config),
        status=status or {},
    )


def a_result(
    device: str = "gpu-0",
    *,
    request: str = "gpu",
    driver: str = DRIVER,
    pool: str = NODE,
    **fields: Json,
) -> JsonObject:
    return {"request": request, "driver": driver, "pool": pool, "device": device, **fields}


def an_allocation(*results: JsonObject, node: str | None = NODE) -> JsonObject:
    """Build `status.allocation` for devices of one node."""
    allocation: JsonObject = {"devices": {"results": [*(results or (a_result(),))]}}
    if node is not None:
        allocation["nodeSelector"] = a_node_selector(node)
    return allocation


def a_node_selector(node: str = NODE) -> JsonObject:
    return {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        ]
    }


def an_allocated_claim(
    name: str = "held",
    *,
    results: list[JsonObject] | None = None,
    node: str | None = NODE,
    namespace: str = NAMESPACE,
    pods: tuple[str, ...] = (),
) -> JsonObject:
    status: JsonObject = {"allocation": an_allocation(*(results or ()), node=node)}
    if pods:
        status["reservedFor"] = [
            {"resource": "pods", "name": pod, "uid": a_uid(f"Pod/{namespace}/{pod}")}
            for pod in pods
        ]
    return a_claim(name, namespace=namespace, status=status)


def a_template(
    name: str = "one-gpu",
    *,
    namespace: str = NAMESPACE,
    requests: list[JsonObject] | None = None,
    constraints: list[JsonObject] | None = None,
    config: list[JsonObject] | None = None,
) -> JsonObject:
    return an_object(
        "ResourceClaimTemplate",
        name,
        namespace=namespace,
        spec={"spec": a_claim_spec(requests, constraints=constraints, config=config)},
    )


def a_taint_rule(
    name: str = "drain",
    *,
    taint: JsonObject | None = None,
    **selector: Json,
) -> JsonObject:
    return an_object(
        "DeviceTaintRule",
        name,
        spec={"deviceSelector": selector, "taint": taint or a_taint()},
    )


def a_pod(  # noqa: PLR0913  a builder has one default for each thing a test may state
    name: str = "train",
    *,
    namespace: str = NAMESPACE,
    claim: str | None = None,
    template: str | None = None,
    scheduler: str = "dra-console",
    node: str | None = None,
    phase: str = "Pending",
) -> JsonObject:
    """Build a pod with one container that uses one claim named `gpu`, by claim or by template."""
    reference: JsonObject = {"name": "gpu"}
    if claim is not None:
        reference["resourceClaimName"] = claim
    if template is not None:
        reference["resourceClaimTemplateName"] = template
    has_claim = claim is not None or template is not None
    container: JsonObject = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    spec: JsonObject = {"schedulerName": scheduler, "containers": [container]}
    if has_claim:
        container["resources"] = {"claims": [{"name": "gpu"}]}
        spec["resourceClaims"] = [reference]
    if node is not None:
        spec["nodeName"] = node
    return an_object(
        "Pod", name, api_version="v1", namespace=namespace, spec=spec, status={"phase": phase}
    )
