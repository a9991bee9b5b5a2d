"""Rounds of killed schedulers: each begins with users' wishes and must end whole.

A round: users create pods and claims; one worker after the other plans and writes through a bad
API server and is killed or stopped at a named write; others follow; at last one may work in
peace. Everything is made from one number, apart from how the machine's scheduler interleaves.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import redis
import urllib3

from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Turn, WrittenAllocation
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.points import Moment, WritePoint
from tests.integration.scheduling.faults.cluster import SLOW_DRIVER, Stage
from tests.integration.scheduling.faults.history import (
    Watcher,
    changes_since,
    claims_of,
    devices_of,
)
from tests.integration.scheduling.faults.life import End, Life, begin
from tests.integration.scheduling.faults.proxy import Fault

LIFE_SECONDS: Final = 60
LEASE_SECONDS: Final = 15
SHORT_LEASE_SECONDS: Final = 1
PEACEFUL_LIVES: Final = 8
"""How many windows a cluster may need after the last fault until nothing is left to do."""

FAULT_SHARE: Final = 0.15
STOPPED_SHARE: Final = 0.06
FIRST_POINTS: Final = (
    WritePoint.FINALIZER,
    WritePoint.NOTE,
    WritePoint.ALLOCATION,
    WritePoint.BINDING,
    WritePoint.NOTE_WITHDRAWAL,
    WritePoint.DISOWNING,
    WritePoint.RELEASE,
    WritePoint.FINALIZER_REMOVAL,
)
LATER_POINTS: Final = (
    WritePoint.RESERVATION,
    WritePoint.CONFIRMATION,
    WritePoint.NOTE_SETTLING,
    WritePoint.FINALIZER_REMOVAL,
    WritePoint.ALLOCATION,
    WritePoint.RELEASE,
    WritePoint.BINDING,
)
WRITES_AHEAD: Final = 60


@dataclass(slots=True)
class Report:
    """What was done and found."""

    rounds: int = 0
    lives: int = 0
    bound: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    """Each change of the round that ended wrong."""

    def to_json(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "lives": self.lives,
            "bound": self.bound,
            "ends": dict(sorted(self.ends.items())),
            "faults": dict(sorted(self.faults.items())),
            "violations": self.violations,
            "story": self.story,
        }


@dataclass(slots=True)
class Game:
    """Everything that rounds need."""

    stage: Stage
    cluster: Cluster
    proxy_url: str
    server_url: str
    redis: redis.Redis
    directory: Path
    seed: int
    report: Report = field(default_factory=Report)

    def play(self, rounds: int) -> None:
        """Play rounds one after the other; stops at the first that ends wrong."""
        # Whoever comes first meets what is new, whoever comes later what others have left.
        first, later = _ends(self.seed, FIRST_POINTS), _ends(self.seed + 1, LATER_POINTS)
        for number in range(rounds):
            dice = random.Random(f"{self.seed}/{number}")
            self.stage.dice = dice
            self._round(dice, first, later)
            self.report.rounds += 1
            progress = json.dumps(self.report.to_json(), indent=1)
            (self.directory / "report.json").write_text(progress)
            if self.report.violations:
                self.report.violations.append(f"round {number} of seed {self.seed}")
                return

    def _round(self, dice: random.Random, first: Iterator[End], later: Iterator[End]) -> None:
        stage = self.stage
        began_at = self._version()
        stage.users()
        stage.mirror()
        stopped: list[Life] = []
        for number in range(dice.choice((1, 2, 2, 3))):
            self._set_faults(dice)
            life = self._live(next(later if number else first))
            if life is not None:
                stopped.append(life)
            stage.disturb()
            if dice.random() < 0.7:
                stage.mirror()
            stage.drivers()
        self._set_faults(None)
        for life in stopped:
            # It wakes up in a world in which others have had the lease since.
            life.go_on()
        for life in stopped:
            if life.wait(seconds=LIFE_SECONDS) is None:
                life.kill()
                self.report.violations.append("a worker that was stopped did not end")
        self._recover()
        self._check(began_at)
        stage.clear()

    def _live(self, end: End) -> Life | None:
        """Let one worker live to its end; return it if it was only stopped."""
        lease_seconds = SHORT_LEASE_SECONDS if end.stops else LEASE_SECONDS
        life = self._begin(end, lease_seconds=lease_seconds)
        status = life.wait(seconds=LIFE_SECONDS)
        if status is None:
            life.kill()
            self.report.violations.append(f"a worker did not end: {end}")
        self._forget_lease()
        is_stopped = status is not None and (status & 0xFF) == 0x7F
        return life if is_stopped else None

    def _begin(self, end: End | None, *, lease_seconds: int) -> Life:
        self.report.lives += 1
        return begin(
            self.cluster,
            end=end,
            lease_seconds=lease_seconds,
            reached=self.directory / "reached",
            log=self.directory / "workers.log",
        )

    def _forget_lease(self) -> None:
        """Let the time of a dead worker's lease be over."""
        self.redis.delete(f"lease:{{allocate:{self.cluster.pk}}}")

    def _recover(self) -> None:
        """Let workers live in peace until one finds nothing to do."""
        for _ in range(PEACEFUL_LIVES):
            self.stage.controllers()
            self.stage.drivers()
            self.stage.mirror()
            status = self._begin(None, lease_seconds=LEASE_SECONDS).wait(seconds=LIFE_SECONDS)
            if status != 0:
                self.report.violations.append(f"a peaceful worker ended with {status}")
            if not self._is_lacking():
                return

    def _check(self, began_at: int) -> None:
        while self._ask_proxy():
            time.sleep(0.05)
        self.stage.mirror()
        pods, claims = self.stage.pods(), self.stage.claims()
        wrong = self.report.violations
        watcher = Watcher()
        changes = changes_since(self.server_url, began_at, pods=pods, claims=claims)
        for at, kind, event, obj in changes:
            watcher.see(at, kind, event, obj)
        wrong += watcher.violations
        self.report.bound += sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        wrong += self._is_lacking()
        turn = Turn.objects.get(cluster=self.cluster)
        notes.forget_shown(self.cluster, fence=turn.fence)
        left = WrittenAllocation.objects.filter(cluster=self.cluster).count()
        if left:
            wrong.append(f"{left} notes are left")
        if wrong:
            told = [[at, kind.plural, event, obj] for at, kind, event, obj in changes]
            (self.directory / "history.json").write_text(json.dumps(told, indent=1))
            self.report.story = [
                _sentence(at, event, obj)
                for at, kind, event, obj in changes
                if kind is RESOURCE_CLAIMS
            ]
            self.report.story += (self.directory / "workers.log").read_text().splitlines()[-200:]

    def _is_lacking(self) -> list[str]:
        """Name what is neither whole nor free; there is room for everything."""
        claims = {claim["metadata"]["name"]: claim for claim in self.stage.claims()}
        lacking = [
            f"{pod['metadata']['name']} is not bound"
            for pod in self.stage.pods()
            if not pod["spec"].get("nodeName") and not _waits_for_driver(pod, claims)
        ]
        uids = {pod["metadata"]["uid"] for pod in self.stage.pods()}
        for name, claim in claims.items():
            reserved = {each["uid"] for each in claim.get("status", {}).get("reservedFor", [])}
            is_ahead = RESERVE_AHEAD_LABEL in claim["metadata"].get("labels", {})
            if is_ahead and not devices_of(claim):
                lacking.append(f"{name} is not reserved ahead")
            if devices_of(claim) and not reserved and not is_ahead:
                lacking.append(f"{name} holds devices for nobody")
            if reserved - uids:
                lacking.append(f"{name} is reserved for a pod that is gone")
        return lacking

    def _version(self) -> int:
        return max(
            int(self.stage.client.list(kind).resource_version) for kind in (PODS, RESOURCE_CLAIMS)
        )

    def _set_faults(self, dice: random.Random | None) -> None:
        faults: list[str | None] = []
        if dice is not None:
            names = [fault.value for fault in Fault]
            faults = [
                dice.choice(names) if dice.random() < FAULT_SHARE else None
                for _ in range(WRITES_AHEAD)
            ]
        self._ask_proxy(json.dumps(faults).encode())

    def _ask_proxy(self, faults: bytes | None = None) -> int:
        """Tell the proxy what to do, if anything, and return how many writes it holds back."""
        method = "GET" if faults is None else "POST"
        answer = urllib3.request(method, f"{self.proxy_url}/faults", body=faults, retries=False)
        said = answer.json()
        self.report.faults.update(said["done"])
        return int(said["late"])

    def count_ends(self) -> None:
        """Count how lives ended, from what workers wrote down at their points."""
        path = self.directory / "reached"
        lines = path.read_text().splitlines() if path.exists() else []
        self.report.ends.update(lines)


def _ends(seed: int, points: Sequence[WritePoint]) -> Iterator[End]:
    """Give ends of lives: before and after each point, again and again, some as stops."""
    dice = random.Random(seed)
    for point, moment in cycle([(point, moment) for point in points for moment in Moment]):
        stops = dice.random() < STOPPED_SHARE
        yield End(point, moment, nth=dice.choice((1, 1, 1, 2, 3)), stops=stops)


def _waits_for_driver(pod: Any, claims: dict[str, Any]) -> bool:
    return any(
        driver == SLOW_DRIVER
        for name in claims_of(pod)
        for driver, _, _ in devices_of(claims[name])
    )


def _sentence(at: int, event: str, claim: Any) -> str:
    """Say what a change made of a claim."""
    metadata = claim["metadata"]
    reserved = [each["name"] for each in claim.get("status", {}).get("reservedFor", [])]
    return (
        f"{at} {event} {metadata['name']}: devices {sorted(devices_of(claim))},"
        f" reserved for {reserved}, finalizers {metadata.get('finalizers', [])}"
    )
