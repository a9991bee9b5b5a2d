"""What pods can ask for that the console does not do. Pure.

Each is refused with the field that asks for it, so that its owner can drop the wish or have
another scheduler place the pod.
"""

from collections.abc import Callable
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.scheduling.planning.plans import Refused

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
BOUND_VOLUMES: Final = ("persistentVolumeClaim", "ephemeral")
GROUPS: Final = ("workloadRef", "schedulingGroup")


def unsupported(spec: JsonObject) -> Refused | None:
    """Name the first thing that a pod asks for in vain."""
    for look in LOOKS:
        found = look(spec)
        if found is not None:
            what, field = found
            return Refused(f"dra-console does not place pods with {what}", field)
    return None


def _inter_pod(spec: JsonObject) -> tuple[str, str] | None:
    affinity = object_of(spec.get("affinity"))
    for kind, words in (("podAffinity", "affinity"), ("podAntiAffinity", "anti-affinity")):
        if object_of(affinity.get(kind)).get(REQUIRED):
            return f"required inter-pod {words}", f"spec.affinity.{kind}.{REQUIRED}"
    return None


def _spread(spec: JsonObject) -> tuple[str, str] | None:
    for at, each in enumerate(_listed(spec.get("topologySpreadConstraints"))):
        if object_of(each).get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            field = f"spec.topologySpreadConstraints[{at}]"
            return "topology spread constraints that say DoNotSchedule", field
    return None


def _volumes(spec: JsonObject) -> tuple[str, str] | None:
    for at, each in enumerate(_listed(spec.get("volumes"))):
        for kind in BOUND_VOLUMES:
            if object_of(each).get(kind) is not None:
                what = "volumes of persistent volume claims, which may bind to other nodes"
                return what, f"spec.volumes[{at}].{kind}"
    return None


def _host_ports(spec: JsonObject) -> tuple[str, str] | None:
    for key in ("initContainers", "containers"):
        for at, container in enumerate(_listed(spec.get(key))):
            if any(port.get("hostPort") for port in objects_of(object_of(container).get("ports"))):
                return "host ports, which may be taken", f"spec.{key}[{at}].ports"
    return None


def _groups(spec: JsonObject) -> tuple[str, str] | None:
    for key in GROUPS:
        if spec.get(key) is not None:
            return "a scheduling group, whose pods start together or not at all", f"spec.{key}"
    return None


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


LOOKS: Final[tuple[Callable[[JsonObject], tuple[str, str] | None], ...]] = (
    _inter_pod,
    _spread,
    _volumes,
    _host_ports,
    _groups,
)
