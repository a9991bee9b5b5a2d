"""A publisher and its server on a clock that a test turns, without threads."""

from dataclasses import dataclass, field

from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.devices.taint import Effect, Taint
from nodeagent.publish.publisher import Publisher
from tests.builders.agents import a_gpu
from tests.builders.slice_server import SliceServer

MOST_TURNS_IN_A_SECOND = 40
SICK = Taint("gpu.nvidia.com/xid", "79", Effect.NO_SCHEDULE)
LOST = Taint("gpu.nvidia.com/gpu-lost", "", Effect.NO_EXECUTE)
UNWATCHED = Taint("gpu.nvidia.com/unmonitored", "", Effect.NONE)


def hopper_inventory(count: int = 2) -> Inventory:
    """Whole GPUs and their partitions side by side: dynamic MIG without a reset."""
    found = gpus("h100x8", node_name="gpu-01", is_dynamic=True)[:count]
    return Inventory.of(found, source=Source.SIMULATED)


def plain_gpus(count: int) -> Inventory:
    """Whole GPUs without partitions."""
    return Inventory.of([a_gpu(number) for number in range(count)], source=Source.SIMULATED)


def gpus_only(inventory: Inventory) -> list[str]:
    return [device.name for device in inventory.devices if device.partition is None]


def all_names(inventory: Inventory) -> list[str]:
    return [device.name for device in inventory.devices]


def has_counters(server: SliceServer) -> bool:
    return any("sharedCounters" in spec for spec in server.specs())


@dataclass
class Publication:
    """One node's publication in virtual time."""

    server: SliceServer = field(default_factory=SliceServer)
    shares: int = 1
    seconds: float = 0.0
    publisher: Publisher = field(init=False)

    def __post_init__(self) -> None:
        self.server.monotonic = self.clock
        self.restart()

    def clock(self) -> float:
        return self.seconds

    def restart(self) -> None:
        """Begin again, as a new process does, with what the server has."""
        self.publisher = Publisher(
            self.server,
            driver="gpu.nvidia.com",
            node_name="gpu-01",
            pool="gpu-01",
            shares=self.shares,
            monotonic=self.clock,
        )
        list(self.server.new_events())
        self.publisher.list()

    def run_for(self, seconds: float) -> None:
        """Let the time pass; everything that is due happens at its moment."""
        end = self.seconds + seconds
        turns = 0
        while True:
            for event in self.server.new_events():
                self.publisher.note(event)
            due = self.publisher.alarm.due
            if due is None or due > end:
                break
            self.seconds = max(self.seconds, due)
            assert self.publisher.alarm.wait()
            self.publisher.turn()
            turns += 1
            assert turns < MOST_TURNS_IN_A_SECOND * (seconds + 1), "it goes round in circles"
        self.seconds = end

    def offer(self, inventory: Inventory, **taints: tuple[Taint, ...]) -> None:
        """Offer devices; taints by device name with `_` for `-`."""
        by_device = {name.replace("_", "-"): given for name, given in taints.items()}
        self.publisher.offer(inventory, by_device)


def published(inventory: Inventory, **taints: tuple[Taint, ...]) -> Publication:
    """A node whose offer was published some seconds ago."""
    node = Publication()
    node.offer(inventory, **taints)
    node.run_for(10)
    return node
