"""Pods scheduled one after the other, each let go when the one before it is decided.

All pods of a wave are made beforehand with a scheduling gate, so that their claims are there;
taking the gate off starts the scheduler. So what it saw at each decision is known: all claims
as the watch shows them then. Between two waves some pods end, and give back what they hold.
A wave's claims are made after the watch has shown that, and kube-scheduler sees them in the
same order.
"""

import http.client
from collections import ChainMap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of
from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.cluster.chaos.http import MERGE_PATCH, Connection
from tests.cluster.rig import Cluster
from tests.cluster.scheduling.random_world import NewPod
from tests.cluster.scheduling.replay import ALLOCATED, ERROR, REFUSED, Decision
from tests.cluster.scheduling.watching import Watching

GATE: Final = "test/wait"
OUTCOMES: Final = {"Unschedulable": REFUSED, "SchedulerError": ERROR}
WRITERS: Final = 4


@dataclass(slots=True)
class Turns:
    """Makes pods of one namespace, and looks what becomes of them."""

    cluster: Cluster
    watching: Watching
    namespace: str
    chance: Random

    def wave(self, pods: Sequence[NewPod]) -> Iterator[Decision]:
        """Make the pods, and give each one's decision as soon as it is bound or refused."""
        uids = self._create(pods)
        connection = Connection(self.cluster.kubeconfig)
        for uid in uids:
            pod = self.watching.of(PODS, uid)
            assert pod is not None
            own = set(self._claim_uids(pod))
            others = [
                claim
                for claim in self.watching.all(RESOURCE_CLAIMS)
                if _uid(claim) not in own and "allocation" in object_of(claim.get("status"))
            ]
            path = PODS.path(self.namespace, _name(pod))
            self._do(connection, "PATCH", path, {"spec": {"schedulingGates": None}})
            decided, outcome, message = self._decision_on(uid)
            claims = [self.watching.of(RESOURCE_CLAIMS, each) for each in self._claim_uids(decided)]
            yield Decision(
                decided, [each for each in claims if each is not None], others, outcome, message
            )
            if outcome != ALLOCATED:
                # It would be tried again, unasked.
                self._do(connection, "DELETE", path, {"gracePeriodSeconds": 0})
        connection.close()

    def end_some(self, share: float) -> int:
        """End some placed pods, one way or another; wait until their devices are free."""
        placed = [
            each for each in self.watching.all(PODS) if object_of(each["spec"]).get("nodeName")
        ]
        ending = [each for each in sorted(placed, key=_name) if self.chance.random() < share]
        connection = Connection(self.cluster.kubeconfig)
        claims = set()
        for pod in ending:
            claims.update(self._claim_uids(pod))
            path = PODS.path(self.namespace, _name(pod))
            if self.chance.random() < 0.5:
                status: JsonObject = {"status": {"phase": "Succeeded"}}
                self._do(connection, "PATCH", f"{path}/status", status)
            else:
                self._do(connection, "DELETE", path, {"gracePeriodSeconds": 0})
        connection.close()
        self.watching.until(lambda: not any(map(self._holds, claims)))
        return len(ending)

    def _create(self, pods: Sequence[NewPod]) -> list[str]:
        connections = [Connection(self.cluster.kubeconfig) for _ in range(WRITERS)]
        shares = [pods[number::WRITERS] for number in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as writers:
            made = dict(ChainMap(*writers.map(self._create_all, shares, connections)))
        uids = [made[each.name] for each in pods]
        self.watching.until(lambda: all(map(self._has_claims, uids)))
        return uids

    def _create_all(self, pods: Sequence[NewPod], connection: Connection) -> dict[str, str]:
        uids = {new.name: self._create_one(new, connection) for new in pods}
        connection.close()
        return uids

    def _create_one(self, new: NewPod, connection: Connection) -> str:
        for template in new.templates:
            path = RESOURCE_CLAIM_TEMPLATES.path(self.namespace)
            self._do(connection, "POST", path, template)
        gates: list[Json] = [{"name": GATE}]
        spec = object_of(new.body["spec"]) | {"schedulingGates": gates}
        made = self._do(connection, "POST", PODS.path(self.namespace), {**new.body, "spec": spec})
        return _uid(made)

    def _has_claims(self, uid: str) -> bool:
        pod = self.watching.of(PODS, uid)
        if pod is None:
            return False
        uids = self._claim_uids(pod)
        return len(uids) == len(objects_of(object_of(pod["spec"]).get("resourceClaims")))

    def _claim_uids(self, pod: JsonObject) -> list[str]:
        by_name = {_name(each): _uid(each) for each in self.watching.all(RESOURCE_CLAIMS)}
        statuses = objects_of(object_of(pod["status"]).get("resourceClaimStatuses"))
        names = {each["name"]: str(each.get("resourceClaimName")) for each in statuses}
        wanted = objects_of(object_of(pod["spec"]).get("resourceClaims"))
        return [
            by_name[names[each["name"]]]
            for each in wanted
            if names.get(each["name"], "") in by_name
        ]

    def _decision_on(self, uid: str) -> tuple[JsonObject, str, str]:
        found = self.watching.until(lambda: self._decided(uid))
        assert found is not None
        return found

    def _decided(self, uid: str) -> tuple[JsonObject, str, str] | None:
        pod = self.watching.of(PODS, uid)
        assert pod is not None
        if object_of(pod["spec"]).get("nodeName"):
            # Each kind is watched for itself, and the claims were written before.
            return (pod, ALLOCATED, "") if all(map(self._holds, self._claim_uids(pod))) else None
        for condition in objects_of(object_of(pod["status"]).get("conditions")):
            outcome = OUTCOMES.get(str(condition.get("reason")))
            if condition["type"] == "PodScheduled" and outcome:
                return pod, outcome, str(condition.get("message"))
        return None

    def _holds(self, uid: str) -> bool:
        claim = self.watching.of(RESOURCE_CLAIMS, uid)
        return claim is not None and "allocation" in object_of(claim.get("status"))

    @staticmethod
    def _do(connection: Connection, method: str, path: str, body: JsonObject) -> JsonObject:
        patch = {"content_type": MERGE_PATCH} if method == "PATCH" else {}
        status, answer = connection.send(method, path, body, **patch)
        assert status < http.client.BAD_REQUEST, (method, path, answer)
        return answer


def _uid(one: JsonObject) -> str:
    return str(object_of(one["metadata"])["uid"])


def _name(one: JsonObject) -> str:
    return str(object_of(one["metadata"])["name"])
