"""What a scenario changes, as values. Each edit writes itself as it is read (`decoding`)."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from dra_console.allocator.api_json import JsonObject, without_unset
from dra_console.allocator.inventory import DeviceId
from dra_console.scheduling.whatif.pods import PodShape


@dataclass(frozen=True, slots=True)
class DeviceSelection:
    """Devices that agree with all given names, as in a DeviceTaintRule, and with the node."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    node: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.driver or self.pool or self.device or self.node)

    def to_json(self) -> JsonObject:
        return without_unset(
            {"driver": self.driver, "pool": self.pool, "device": self.device, "node": self.node}
        )

    def __str__(self) -> str:
        """Name it in words."""
        parts = [
            f"{kind} {name}"
            for kind, name in (
                ("node", self.node),
                ("driver", self.driver),
                ("pool", self.pool),
                ("device", self.device),
            )
            if name
        ]
        return ", ".join(parts) or "all devices"


@dataclass(frozen=True, slots=True)
class AddNodes:
    """Nodes like one that is there, with copies of the slices that are its own."""

    type: ClassVar[str] = "addNodes"
    like: str
    count: int

    def to_json(self) -> JsonObject:
        return {"type": self.type, "like": self.like, "count": self.count}


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """A node that is gone, with its slices and with what runs there."""

    type: ClassVar[str] = "removeNode"
    node: str

    def to_json(self) -> JsonObject:
        return {"type": self.type, "node": self.node}


@dataclass(frozen=True, slots=True)
class DrainNode:
    """A node that stays, takes no pod, and whose pods with devices have left."""

    type: ClassVar[str] = "drainNode"
    node: str

    def to_json(self) -> JsonObject:
        return {"type": self.type, "node": self.node}


@dataclass(frozen=True, slots=True)
class TaintDevices:
    """A taint on devices, as a DeviceTaintRule puts it there; with NoExecute, pods leave."""

    type: ClassVar[str] = "taint"
    devices: DeviceSelection
    key: str
    value: str
    effect: str

    def to_json(self) -> JsonObject:
        return {
            "type": self.type,
            "devices": self.devices.to_json(),
            **without_unset({"key": self.key, "value": self.value, "effect": self.effect}),
        }


@dataclass(frozen=True, slots=True)
class UntaintDevices:
    """Taints of a key that are gone, whoever put them there; an empty effect means each."""

    type: ClassVar[str] = "untaint"
    devices: DeviceSelection
    key: str
    effect: str = ""

    def to_json(self) -> JsonObject:
        devices = self.devices.to_json()
        return {
            "type": self.type,
            **without_unset({"devices": devices, "key": self.key, "effect": self.effect}),
        }


@dataclass(frozen=True, slots=True)
class FreeClaim:
    """A claim that has ended: named, or known by one device that it holds."""

    type: ClassVar[str] = "freeClaim"
    namespace: str = ""
    name: str = ""
    holding: DeviceId | None = None

    def to_json(self) -> JsonObject:
        if self.holding is not None:
            driver, pool, device = self.holding
            return {
                "type": self.type,
                "holding": {"driver": driver, "pool": pool, "device": device},
            }
        return {"type": self.type, "namespace": self.namespace, "name": self.name}


@dataclass(frozen=True, slots=True)
class AddPods:
    """Pods that came before the one that is asked about. They are placed after all other edits."""

    type: ClassVar[str] = "addPods"
    pod: PodShape
    count: int

    def to_json(self) -> JsonObject:
        return {"type": self.type, "pod": self.pod.to_json(), "count": self.count}


@dataclass(frozen=True, slots=True)
class SetClassSelectors:
    """Other selectors for a class."""

    type: ClassVar[str] = "setClassSelectors"
    device_class: str
    selectors: tuple[str, ...]

    def to_json(self) -> JsonObject:
        return {
            "type": self.type,
            "deviceClass": self.device_class,
            "selectors": [*self.selectors],
        }


Edit: TypeAlias = (
    AddNodes
    | RemoveNode
    | DrainNode
    | TaintDevices
    | UntaintDevices
    | FreeClaim
    | AddPods
    | SetClassSelectors
)
