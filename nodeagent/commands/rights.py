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
FOR_OWN_STATUS: Final = ("resourceclaims/driver", "associated-node:patch")
"""With the driver's name, of claims on the node that the account's token names."""

ASKS_FOR_OWN_STATUS: Final = (1, 36)
"""Since when the API server asks for that."""


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource of the whole cluster."""

    group: str
    resource: str
    verb: str
    name: str = ""
    """Of the only object; empty for all."""

    def __str__(self) -> str:
        whole = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {whole}" + (f" named {self.name}" if self.name else "")

    def attributes(self) -> JsonObject:
        """Return it as `authorization.k8s.io/v1` spells it."""
        resource, _, subresource = self.resource.partition("/")
        return {
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "name": self.name,
        }


def needed_rights(config: Config, *, server: tuple[int, int] | None) -> tuple[Right, ...]:
    """Return every right that an agent of these flags uses.

    `server` is the API server's version; of one that is not known the newest is expected.
    """
    rights = [*_rights_of(NEEDED)]
    if config.tells_device_status:
        rights += _rights_of(FOR_DEVICE_STATUS)
        if server is None or server >= ASKS_FOR_OWN_STATUS:
            rights.append(Right(GROUP, *FOR_OWN_STATUS, name=config.driver))
    return tuple(rights)


def _rights_of(rules: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Iterator[Right]:
    for group, resource, verbs in rules:
        for verb in verbs:
            yield Right(group, resource, verb)
