"""What a devcluster holds when it starts for the first time, and who may do what in it.

Objects are created only where they are absent, so that a restart resumes with whatever
people have made of them since.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import structlog

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.authz import Policy
from dra_console.devcluster.errors import AlreadyExistsError, ForbiddenError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.kubelet_token import AGENT_ACCOUNT, AGENT_NAMESPACE
from dra_console.devcluster.scenario_policy import CONSOLE_ACCOUNT, demo_policy
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import DEVICE_CLASSES, NAMESPACES, NODES, SERVICE_ACCOUNTS, Kind

log = structlog.get_logger()

DRIVER: Final = "gpu.nvidia.com"
SYSTEM_NAMESPACES: Final = ("default", "kube-system")
DEMO_NAMESPACES: Final = (AGENT_NAMESPACE, "team-research", "team-vision")


@dataclass(frozen=True, slots=True)
class Machine:
    """A kind of node: its cpu count and memory, as `status.allocatable` says them."""

    product: str
    """Label `dra-console.io/gpu-product`, for node selectors of pods."""

    cpu: str
    memory: str


H100_MACHINE: Final = Machine("H100", cpu="112", memory="2Ti")
A100_MACHINE: Final = Machine("A100", cpu="64", memory="512Gi")
L4_MACHINE: Final = Machine("L4", cpu="48", memory="192Gi")

DEMO_NODES: Final[Mapping[str, Machine]] = MappingProxyType(
    {
        "gpu-01": H100_MACHINE,
        "gpu-02": H100_MACHINE,
        "gpu-03": H100_MACHINE,
        "mig-01": A100_MACHINE,
        "l4-01": L4_MACHINE,
        "l4-02": L4_MACHINE,
    }
)

DEMO_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gpu.nvidia.com": f"device.attributes['{DRIVER}'].type == 'gpu'",
        "mig.nvidia.com": f"device.attributes['{DRIVER}'].type == 'mig'",
        "l4.nvidia.com": (
            f"device.attributes['{DRIVER}'].type == 'gpu'"
            # Not `contains`, which would take an L40 for one.
            f" && device.attributes['{DRIVER}'].productName.endsWith('L4')"
        ),
    }
)
"""Selector of each class, beside that the driver is ours."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A first state, as objects in the order of their creation, and a policy."""

    objects: tuple[tuple[Kind, JsonObject], ...]
    policy: Policy


def scenario(name: str) -> Scenario:
    """Build the scenario `demo` or `empty`.

    Raises:
        KeyError: there is none of that name.

    """
    return {"demo": _demo, "empty": _empty}[name]()


def create_missing(store: Store, objects: Iterable[tuple[Kind, JsonObject]]) -> None:
    """Create the objects that are not there."""
    for kind, wanted in objects:
        try:
            store.create(kind, wanted)
        except AlreadyExistsError:
            continue
        except ForbiddenError as error:
            # Its namespace is being deleted: somebody wants it gone.
            name = inside(wanted, "metadata").text("name")
            log.info("object left out", plural=kind.plural, name=name, reason=error.message)


def _empty() -> Scenario:
    return Scenario(tuple(_namespaces(SYSTEM_NAMESPACES)), Policy())


def _demo() -> Scenario:
    objects = [
        *_namespaces(SYSTEM_NAMESPACES + DEMO_NAMESPACES),
        *(_service_account(AGENT_NAMESPACE, name) for name in (CONSOLE_ACCOUNT, AGENT_ACCOUNT)),
        *(_device_class(name, selector) for name, selector in DEMO_CLASSES.items()),
        *(_node(name, machine) for name, machine in DEMO_NODES.items()),
    ]
    return Scenario(tuple(objects), demo_policy())


def _namespaces(names: Iterable[str]) -> Iterator[tuple[Kind, JsonObject]]:
    for name in names:
        yield NAMESPACES, {"metadata": {"name": name}}
        yield _service_account(name, "default")


def _service_account(namespace: str, name: str) -> tuple[Kind, JsonObject]:
    return SERVICE_ACCOUNTS, {"metadata": {"namespace": namespace, "name": name}}


def _device_class(name: str, selector: str) -> tuple[Kind, JsonObject]:
    expression = f"device.driver == '{DRIVER}' && {selector}"
    spec: JsonObject = {"selectors": [{"cel": {"expression": expression}}]}
    return DEVICE_CLASSES, {"metadata": {"name": name}, "spec": spec}


def _node(name: str, machine: Machine) -> tuple[Kind, JsonObject]:
    resources: dict[str, Json] = {"cpu": machine.cpu, "memory": machine.memory, "pods": "110"}
    return NODES, {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "dra-console.io/gpu-product": machine.product,
            },
        },
        "spec": {},
        "status": {"capacity": {**resources}, "allocatable": {**resources}},
    }
