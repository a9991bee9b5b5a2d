"""What the agent's account has to be allowed, as `deploy/node-agent/rbac.yaml` grants it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nodeagent.config import Config
from nodeagent.fields import JsonObject
from nodeagent.kube.versions import GROUP

NEEDED: Final = (
    (GROUP, "resourceclaims", ("get", "list")),
    (GROUP, "resourceslices", ("get", "list", "watch", "create", "update", "delete")),
    ("", "nodes", ("get",)),
    ("", "events", ("create",)),
)
FOR_DEVICE_STATUS: Final = ((GROUP, "resourceclaims/status", ("patch",)),)
"""Kubernetes 1.36 and later also ask for `associated-node:patch` on `resourceclaims/driver`, which
an access review of an older server does not know.
"""


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource of the whole cluster."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")

    def attributes(self) -> JsonObject:
        """Return it as `authorization.k8s.io/v1` spells it."""
        resource, _, subresource = self.resource.partition("/")
        return {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
        }


def needed_rights(config: Config) -> tuple[Right, ...]:
    """Return every right that an agent of these flags uses."""
    rules = NEEDED + (FOR_DEVICE_STATUS if config.tells_device_status else ())
    return tuple(_rights_of(rules))


def _rights_of(rules: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Iterator[Right]:
    for group, resource, verbs in rules:
        for verb in verbs:
            yield Right(group, resource, verb)
