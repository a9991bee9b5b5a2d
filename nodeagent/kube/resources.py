"""What the agent asks of the API server: claims, its own slices, its Node, one kind of Event.

Each method is one request. The version of resource.k8s.io is discovered on first use and again
when the chosen one answers 404 (an API server that was upgraded or downgraded under the agent).
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nodeagent.fields import FieldError, Fields, Json, JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.errors import NotFoundError, NotServedError, UnreachableError, status_error
from nodeagent.kube.server_version import ServerVersion
from nodeagent.kube.versions import GROUP, SPOKEN, preferred, slice_from_v1, slice_to_v1

PAGE_LIMIT: Final = 500
SLICES: Final = "resourceslices"


@dataclass(frozen=True, slots=True)
class Listed:
    """Objects as of one resource version, from which a watch can go on."""

    items: tuple[JsonObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: JsonObject


class Resources:
    """The API server's objects as this node's driver sees them. Safe between threads."""

    def __init__(self, client: Client, *, driver: str, node_name: str) -> None:
        self._client = client
        self._driver = driver
        self._own_slices = {
            "fieldSelector": f"spec.driver={driver},spec.nodeName={node_name}",
        }
        self._version: str | None = None
        self._discovery = threading.Lock()

    def server_version(self) -> ServerVersion:
        """Ask which server this is.

        Raises:
            UnreachableError: it did not say.

        """
        try:
            return ServerVersion.of(self._client.request("GET", "/version"))
        except FieldError as error:
            raise UnreachableError(str(error)) from error

    def rediscover(self) -> None:
        """Choose the version of resource.k8s.io anew at the next request."""
        with self._discovery:
            self._version = None

    def node(self, name: str) -> JsonObject:
        """Read a Node."""
        return self._client.request("GET", f"/api/v1/nodes/{name}")

    def claim(self, namespace: str, name: str) -> JsonObject:
        """Read a ResourceClaim as it is now: a quorum read, no cache.

        Raises:
            NotFoundError: there is none.

        """
        return self._request("GET", f"/namespaces/{namespace}/resourceclaims/{name}")

    def claims(self) -> Listed:
        """Read all ResourceClaims of the cluster."""
        return self._list("resourceclaims", query={})

    def apply_claim_devices(
        self, namespace: str, name: str, *, uid: str, devices: list[Json]
    ) -> None:
        """Say what is known of a claim's devices in its status, in place of what was said before.

        Only this driver's own entries are touched (server-side apply, KEP 4817).

        Raises:
            NotFoundError: there is no such claim.
            ConflictError: a claim of that name has another UID by now.

        """
        body: JsonObject = {
            "apiVersion": f"{GROUP}/{self.version()}",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "status": {"devices": devices},
        }
        self._request(
            "PATCH",
            f"/namespaces/{namespace}/resourceclaims/{name}/status",
            query={"fieldManager": self._driver, "force": "true"},
            body=body,
        )

    def slices(self) -> Listed:
        """Read this driver's slices of this node."""
        listed = self._list(SLICES, query=self._own_slices)
        version = self.version()
        return Listed(
            tuple(slice_to_v1(item, version=version) for item in listed.items),
            listed.resource_version,
        )

    def watch_slices(self, *, resource_version: str, window_seconds: int) -> Iterator[WatchEvent]:
        """Follow this driver's slices of this node from a list on, for one window.

        Raises:
            ExpiredError: the resource version is too old: list again.

        """
        version = self.version()
        query = {
            **self._own_slices,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
        }
        path = f"/apis/{GROUP}/{version}/{SLICES}"
        for line in self._client.stream(path, query=query, window_seconds=window_seconds):
            event = Fields(line, "")
            body = event.object("object")
            if event.text("type") == "ERROR":
                code = body.optional_integer("code") or 0
                raise status_error(code, f"watch: {body.optional_text('message')}")
            yield WatchEvent(event.text("type"), slice_to_v1(body.value, version=version))

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        """Create a slice and return it as stored."""
        return self._send_slice("POST", f"/{SLICES}", slice_object)

    def try_slice(self, slice_object: JsonObject) -> JsonObject:
        """Return what would be stored of a new slice, and store nothing (a dry run).

        Raises:
            InvalidError: validation refuses it.

        """
        return self._send_slice("POST", f"/{SLICES}", slice_object, query={"dryRun": "All"})

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        """Overwrite a slice at the resource version that it carries; return it as stored.

        Raises:
            ConflictError: it changed since.

        """
        name = Fields(slice_object, "").object("metadata").text("name")
        return self._send_slice("PUT", f"/{SLICES}/{name}", slice_object)

    def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        """Delete exactly the slice that was seen.

        Raises:
            ConflictError: it is another one, or changed since.

        """
        preconditions: JsonObject = {"uid": uid, "resourceVersion": resource_version}
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
        }
        self._request("DELETE", f"/{SLICES}/{name}", body=body)

    def create_event(self, event: JsonObject, *, namespace: str) -> None:
        """Record an Event (core/v1)."""
        self._client.request("POST", f"/api/v1/namespaces/{namespace}/events", body=event)

    def version(self) -> str:
        """Return the version of resource.k8s.io that is spoken with this server.

        Raises:
            NotServedError: the server has none that the agent speaks.

        """
        with self._discovery:
            if self._version is None:
                group = Fields(self._client.request("GET", f"/apis/{GROUP}"), "APIGroup")
                served = [version.text("version") for version in group.objects("versions")]
                self._version = preferred(served)
            if self._version is None:
                expected = ", ".join(SPOKEN)
                raise NotServedError(404, f"{GROUP} is served in none of {expected}")
            return self._version

    def _list(self, plural: str, *, query: Mapping[str, str]) -> Listed:
        items: list[JsonObject] = []
        following = ""
        while True:
            page_query = {**query, "limit": str(PAGE_LIMIT)}
            if following:
                page_query["continue"] = following
            page = Fields(self._request("GET", f"/{plural}", query=page_query), plural)
            items += [item.value for item in page.objects("items")]
            metadata = page.object("metadata")
            following = metadata.optional_text("continue") or ""
            if not following:
                return Listed(tuple(items), metadata.text("resourceVersion"))

    def _send_slice(
        self,
        method: str,
        path: str,
        slice_object: JsonObject,
        *,
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        version = self.version()
        body = slice_from_v1(slice_object, version=version)
        answer = self._request(method, path, query=query, body=body, version=version)
        return slice_to_v1(answer, version=version)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        version: str | None = None,
    ) -> JsonObject:
        version = version or self.version()
        try:
            return self._client.request(
                method, f"/apis/{GROUP}/{version}{path}", query=query, body=body
            )
        except NotFoundError:
            # It may be the object or the whole version that is not there: ask again next time.
            self.rediscover()
            raise
