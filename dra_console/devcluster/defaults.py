"""Values that the API server fills in where a client left them out.

Applied to every object that comes in, also on update, so that an object which a client sends
again without them still equals the stored one. Source: `dra-semantics.md` 1.5 to 1.10 and the
defaults of core/v1.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.metadata import DEFAULT_GRACE_SECONDS, now, timestamp
from dra_console.kube.kinds import (
    DEVICE_TAINT_RULES,
    NAMESPACES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)

EXACT_COUNT: Final = "ExactCount"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"

POD_DEFAULTS: Final[Mapping[str, Json]] = MappingProxyType(
    {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": DEFAULT_GRACE_SECONDS,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        # There are no priority classes here, so every pod has the default one's.
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
)


def set_defaults(kind: Kind, obj: JsonObject) -> None:
    """Fill in what is absent.

    Raises:
        DecodeError: a field on the way to a default is of another type than the API declares.

    """
    if kind in DEFAULTS:
        DEFAULTS[kind](Fields("", obj))


def _claim(claim: Fields) -> None:
    spec = claim.child("spec")
    if spec is not None:
        _claim_spec(spec)


def _template(template: Fields) -> None:
    spec = template.child("spec")
    if spec is not None:
        spec.raw.setdefault("metadata", {})
    claim = spec.child("spec") if spec else None
    if claim is not None:
        _claim_spec(claim)


def _claim_spec(spec: Fields) -> None:
    devices = spec.child("devices")
    if devices is None:
        return
    for request in devices.children("requests"):
        for exact in _exact_requests(request):
            # To the API's types an empty text and 0 are the same as absent.
            mode = exact.text("allocationMode") or EXACT_COUNT
            exact.raw["allocationMode"] = mode
            if mode == EXACT_COUNT:
                exact.raw["count"] = exact.integer("count") or 1
            for toleration in exact.children("tolerations"):
                toleration.raw["operator"] = toleration.text("operator") or "Equal"


def _exact_requests(request: Fields) -> Iterator[Fields]:
    exact = request.child("exactly")
    if exact is not None:
        yield exact
    yield from request.children("firstAvailable")


def _slice(resource_slice: Fields) -> None:
    spec = resource_slice.child("spec")
    for device in spec.children("devices") if spec else ():
        for taint in device.children("taints"):
            taint.raw.setdefault("timeAdded", timestamp(now()))


def _taint_rule(rule: Fields) -> None:
    spec = rule.child("spec")
    taint = spec.child("taint") if spec else None
    if taint is not None:
        taint.raw.setdefault("timeAdded", timestamp(now()))


def _namespace(namespace: Fields) -> None:
    metadata = namespace.child("metadata")
    if metadata is None:
        return
    labels = metadata.raw.get("labels") or {}
    if isinstance(labels, dict):
        metadata.raw["labels"] = {**labels, NAMESPACE_NAME_LABEL: metadata.text("name")}


def _pod(pod: Fields) -> None:
    spec = pod.child("spec")
    if spec is None:
        return
    for field, value in POD_DEFAULTS.items():
        spec.raw.setdefault(field, value)
    spec.raw.setdefault("securityContext", {})
    for group in ("initContainers", "containers"):
        for container in spec.children(group):
            _container(container)


def _container(container: Fields) -> None:
    tag = container.text("image").rpartition("/")[2].partition(":")[2]
    latest = tag in {"", "latest"}
    container.raw.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.raw.setdefault("resources", {})
    container.raw.setdefault("terminationMessagePath", "/dev/termination-log")
    container.raw.setdefault("terminationMessagePolicy", "File")
    for port in container.children("ports"):
        port.raw.setdefault("protocol", "TCP")


DEFAULTS: Final[Mapping[Kind, Callable[[Fields], None]]] = MappingProxyType(
    {
        RESOURCE_CLAIMS: _claim,
        RESOURCE_CLAIM_TEMPLATES: _template,
        RESOURCE_SLICES: _slice,
        DEVICE_TAINT_RULES: _taint_rule,
        NAMESPACES: _namespace,
        PODS: _pod,
    }
)
