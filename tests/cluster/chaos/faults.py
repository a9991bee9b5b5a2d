"""What goes wrong while the plan is being written, and when: made from the plan's number."""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.cluster.chaos.quick_worker import LEASE_SECONDS
from tests.cluster.chaos.servers import ApiServer, Crew, Database, RedisServer

WORKERS: Final = ("worker-one", "worker-two")
BEATS: Final = ("beat-one", "beat-two")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong after so many writes."""

    after: int
    name: str
    dice: int


def faults_of(seed: int, *, operations: int, counts: Mapping[str, int]) -> Sequence[Fault]:
    """Spread the faults over the writes."""
    dice = random.Random(seed + 1)
    names = [name for name, count in counts.items() for _ in range(count)]
    dice.shuffle(names)
    moments = sorted(dice.randrange(operations // 20, operations) for _ in names)
    return [
        Fault(after, name, dice.getrandbits(32)) for after, name in zip(moments, names, strict=True)
    ]


@dataclass(slots=True)
class Breaker:
    """Breaks things and mends them again."""

    api_server: ApiServer
    crew: Crew
    redis: RedisServer
    database: Database | None
    """`None` where the console has a SQLite file, which nobody can be cut off from."""

    write_on: Callable[[int], None]
    """Let so many writes pass and wait for them."""

    done: Counter[str] = field(default_factory=Counter)

    def do(self, fault: Fault) -> None:
        self.done[fault.name] += 1
        FAULTS[fault.name](self, random.Random(fault.dice))

    def kill_worker(self, dice: random.Random) -> None:
        self._kill_and_start(dice.choice(WORKERS))

    def kill_beat(self, dice: random.Random) -> None:
        self._kill_and_start(dice.choice(BEATS))

    def freeze_worker(self, dice: random.Random) -> None:
        """Stop a worker in whatever it does, past its lease; the other goes on meanwhile."""
        name = dice.choice(WORKERS)
        self.crew.freeze(name)
        self.write_on(100)
        time.sleep(LEASE_SECONDS + 3)
        self.crew.thaw(name)

    def forget_history(self, _: random.Random) -> None:
        self.api_server.forget_history()

    def forget_history_without_workers(self, _: random.Random) -> None:
        for name in WORKERS:
            self.crew.kill(name)
        self.write_on(300)
        self.api_server.forget_history()
        self.write_on(50)
        for name in WORKERS:
            self.crew.start(name)

    def kill_api_server(self, _: random.Random) -> None:
        self.api_server.kill()
        self.api_server.start()

    def restart_api_server(self, _: random.Random) -> None:
        self.api_server.stop()
        self.api_server.start()

    def kill_redis(self, dice: random.Random) -> None:
        """It comes back empty: leases, fences and queued tasks are gone."""
        self.redis.kill()
        time.sleep(dice.uniform(0, 3))
        self.redis.start()

    def cut_connections(self, _: random.Random) -> None:
        assert self.database is not None
        self.done["connections"] += self.database.cut_connections()

    def _kill_and_start(self, name: str) -> None:
        self.crew.kill(name)
        self.crew.start(name)


FAULTS: Final[Mapping[str, Callable[[Breaker, random.Random], None]]] = {
    "worker killed": Breaker.kill_worker,
    "beat killed": Breaker.kill_beat,
    "worker frozen": Breaker.freeze_worker,
    "history forgotten": Breaker.forget_history,
    "history forgotten while no worker runs": Breaker.forget_history_without_workers,
    "API server killed": Breaker.kill_api_server,
    "API server restarted": Breaker.restart_api_server,
    "Redis killed": Breaker.kill_redis,
    "connections cut": Breaker.cut_connections,
}
