"""Events on pods, as controllers and kubelets write them.

The same thing said again raises `count` instead of adding an object (client-go
`tools/record`). An Event that cannot be written is dropped: it is a remark, never state.
"""

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import structlog

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import NotFoundError, StatusError
from dra_console.devcluster.metadata import now, timestamp
from dra_console.devcluster.pods import Pod
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import EVENTS

log = structlog.get_logger()

REMEMBERED: Final = 4096
"""How many different remarks are recognised when they are made again; client-go's cache size."""


@dataclass(slots=True)
class PodEvents:
    """Writes what one component has to say about pods."""

    store: Store
    component: str
    """Such as `kubelet`."""

    host: str = ""
    _names: OrderedDict[tuple[str, ...], str] = field(default_factory=OrderedDict)

    def note(self, pod: Pod, *, reason: str, message: str) -> None:
        """Say that something happened as it should."""
        self._record(pod, event_type="Normal", reason=reason, message=message)

    def warn(self, pod: Pod, *, reason: str, message: str) -> None:
        """Say that something is in the way of the pod."""
        self._record(pod, event_type="Warning", reason=reason, message=message)

    def _record(self, pod: Pod, *, event_type: str, reason: str, message: str) -> None:
        key = (pod.uid, event_type, reason, message)
        try:
            if not self._repeat(pod.namespace, name=self._names.get(key)):
                self._names[key] = self._create(pod, key=key)
        except StatusError as error:
            log.warning("event dropped", pod=pod.key, reason=reason, error=error.message)
            return
        self._names.move_to_end(key)
        if len(self._names) > REMEMBERED:
            self._names.popitem(last=False)

    def _repeat(self, namespace: str, *, name: str | None) -> bool:
        """Count an Event once more; false if there is none to count."""
        if name is None:
            return False
        try:
            event = self.store.get(EVENTS, namespace, name)
        except NotFoundError:
            return False
        count = event.get("count")
        event["count"] = count + 1 if isinstance(count, int) else 1
        event["lastTimestamp"] = timestamp(now())
        self.store.update(EVENTS, event)
        return True

    def _create(self, pod: Pod, *, key: tuple[str, ...]) -> str:
        _, event_type, reason, message = key
        moment = timestamp(now())
        name = f"{pod.name[:236]}.{secrets.token_hex(8)}"
        event: JsonObject = {
            "metadata": {"namespace": pod.namespace, "name": name},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": pod.namespace,
                "name": pod.name,
                "uid": pod.uid,
            },
            "type": event_type,
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "source": {"component": self.component, "host": self.host}
            if self.host
            else {"component": self.component},
            "reportingComponent": self.component,
            "reportingInstance": self.host,
        }
        self.store.create(EVENTS, event)
        return name
