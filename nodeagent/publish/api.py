"""What the publisher asks of an API server; `kube.resources.Resources` answers it."""

from collections.abc import Iterator
from typing import Protocol

from nodeagent.fields import JsonObject
from nodeagent.kube.resources import Listed, WatchEvent
from nodeagent.kube.server_version import ServerVersion


class SliceApi(Protocol):
    """An API server's slices of this driver and node, in v1's shape. Every call can fail."""

    def server_version(self) -> ServerVersion:
        """Ask which server this is."""
        ...

    def rediscover(self) -> None:
        """Choose the version of resource.k8s.io anew at the next request."""
        ...

    def node(self, name: str) -> JsonObject:
        """Read a Node."""
        ...

    def slices(self) -> Listed:
        """List the slices."""
        ...

    def watch_slices(self, *, resource_version: str, window_seconds: int) -> Iterator[WatchEvent]:
        """Follow them."""
        ...

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        """Create one and return it as stored."""
        ...

    def try_slice(self, slice_object: JsonObject) -> JsonObject:
        """Return what would be stored, and store nothing."""
        ...

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        """Overwrite one and return it as stored."""
        ...

    def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        """Delete exactly the one that was seen."""
        ...

    def create_event(self, event: JsonObject, *, namespace: str) -> None:
        """Record an Event."""
        ...
