"""The API server's verbs on raw JSON objects, as one identity.

Objects go in and come out as the API server spells them (`JsonObject`), fields that this
console does not know included.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote

import urllib3

from dra_console.allocator.model import JsonObject
from dra_console.kube import credentials
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import PODS, Kind
from dra_console.kube.transport import Headers, Request, Transport

PAGE_SIZE: Final = 500
"""As client-go asks for; keeps one answer at a few megabytes."""


@dataclass(frozen=True, slots=True)
class User:
    """A Kubernetes identity, as impersonation and SubjectAccessReviews name it."""

    username: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind at one resource version, in the API server's order."""

    items: list[JsonObject]
    resource_version: str


class Client:
    """Speaks to one API server as itself or, with impersonation, as somebody else."""

    def __init__(self, transport: Transport, *, impersonation: Headers = ()) -> None:
        """Share `transport`; `impersonation` goes with every request."""
        self._transport = transport
        self._impersonation = impersonation

    @classmethod
    def from_kubeconfig(cls, path: str, *, context: str = "") -> Self:
        """Use one context of a kubeconfig file; empty means its current one.

        Raises:
            KubeconfigError: the file or the context cannot be used.

        """
        return cls(Transport(credentials.from_kubeconfig(path, context=context)))

    @classmethod
    def in_cluster(cls) -> Self:
        """Use the pod's service account.

        Raises:
            KubeconfigError: this process runs in no pod.

        """
        return cls(Transport(credentials.in_cluster))

    def as_user(self, user: User) -> "Client":
        """Act as `user` over the same connections; the API server checks that we may."""
        return Client(self._transport, impersonation=_impersonation_headers(user))

    def get(self, kind: Kind, name: str, *, namespace: str | None = None) -> JsonObject:
        """Read one object.

        Raises:
            NotFoundError: there is none, or the kind is not served.

        """
        return self._exchange(Request("GET", kind.path(namespace, name), repeats_harmlessly=True))

    def pages(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Iterator[Listed]:
        """Read all objects page by page; every page is of the same resource version.

        Raises:
            ExpiredError: the server forgot that version in mid-list; begin again.

        """
        query = {"limit": str(PAGE_SIZE)}
        if label_selector:
            query["labelSelector"] = label_selector
        if field_selector:
            query["fieldSelector"] = field_selector
        while True:
            answer = self._exchange(
                Request("GET", kind.path(namespace), query=dict(query), repeats_harmlessly=True)
            )
            page, position = _page(answer, kind=kind)
            yield page
            if not position:
                return
            query["continue"] = position

    def list(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listed:
        """Read all objects at once.

        Raises:
            ExpiredError: the server forgot the version in mid-list; begin again.

        """
        whole = Listed(items=[], resource_version="")
        for page in self.pages(
            kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        ):
            whole = Listed(whole.items + page.items, page.resource_version)
        return whole

    def create(
        self,
        kind: Kind,
        body: JsonObject,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Create an object and return it as stored, or as it would be stored.

        Raises:
            ConflictError: the name is taken.
            InvalidError: fields were refused; `causes` names them.

        """
        return self._exchange(
            Request("POST", kind.path(namespace), query=_dry_run(dry_run), body=body)
        )

    def replace(
        self,
        kind: Kind,
        body: JsonObject,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Put `body` in place of the object that its metadata names, and return what is stored.

        Raises:
            ConflictError: it changed since the `resourceVersion` in `body`.

        """
        namespace, name = _identity(body)
        path = kind.path(namespace, name, subresource)
        return self._exchange(Request("PUT", path, query=_dry_run(dry_run), body=body))

    def merge_patch(
        self,
        kind: Kind,
        name: str,
        patch: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        """Apply a JSON merge patch (RFC 7386) and return the object as stored.

        Raises:
            ConflictError: `patch` names a `resourceVersion` that is no longer current.

        """
        path = kind.path(namespace, name, subresource)
        return self._exchange(
            Request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        )

    def delete(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> None:
        """Ask for an object's deletion; finalizers may keep it for a while.

        Raises:
            NotFoundError: it is gone already.
            ConflictError: it is not the object of that `uid` or `resource_version`.

        """
        preconditions: JsonObject = {}
        if uid is not None:
            preconditions["uid"] = uid
        if resource_version is not None:
            preconditions["resourceVersion"] = resource_version
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        self._exchange(Request("DELETE", kind.path(namespace, name), body=options))

    def bind_pod(self, namespace: str, name: str, *, node_name: str, uid: str) -> None:
        """Bind a pod to a node, as a scheduler does.

        Raises:
            ConflictError: it is bound already, or is not the pod of that `uid`.

        """
        binding: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        self._exchange(Request("POST", PODS.path(namespace, name, "binding"), body=binding))

    def review(self, kind: Kind, body: JsonObject) -> JsonObject:
        """Post a review, which the server answers and does not store."""
        return self._exchange(Request("POST", kind.path(), body=body, repeats_harmlessly=True))

    def stream(self, request: Request, *, read_seconds: float) -> urllib3.BaseHTTPResponse:
        """Send a request whose answer is a stream, and return it unread; `listwatch` reads it.

        Raises:
            ApiError: the server refused, or no answer came.

        """
        return self._transport.stream(
            request, impersonation=self._impersonation, read_seconds=read_seconds
        )

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self._transport.close()

    def _exchange(self, request: Request) -> JsonObject:
        return self._transport.exchange(request, impersonation=self._impersonation)


def _dry_run(dry_run: bool) -> dict[str, str]:  # noqa: FBT001 - the API's own flag
    return {"dryRun": "All"} if dry_run else {}


def _identity(body: JsonObject) -> tuple[str | None, str]:
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        raise ApiError("metadata.name: expected the name of the object to replace, got none")
    return namespace if isinstance(namespace, str) else None, name


def _page(answer: JsonObject, *, kind: Kind) -> tuple[Listed, str]:
    """Return the page and where the next one begins; empty after the last.

    A list's items carry no `apiVersion` and `kind`, a watch's objects do: both leave this
    package alike.
    """
    items, metadata = answer.get("items"), answer.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(items, list | None):
        raise ApiError(f"{kind.plural}: expected a list with metadata and items")
    objects: list[JsonObject] = [
        {"apiVersion": kind.api_version, "kind": kind.kind, **item}
        for item in items or []
        if isinstance(item, dict)
    ]
    version, position = metadata.get("resourceVersion"), metadata.get("continue")
    if not isinstance(version, str):
        raise ApiError(f"{kind.plural}: metadata.resourceVersion: expected text, got {version!r}")
    return Listed(objects, version), position if isinstance(position, str) else ""


def _impersonation_headers(user: User) -> Headers:
    """Spell the headers of user impersonation (Kubernetes reference, "Authentication")."""
    headers = [("Impersonate-User", user.username)]
    headers += [("Impersonate-Group", group) for group in user.groups]
    if user.uid:
        headers.append(("Impersonate-Uid", user.uid))
    headers += [
        (f"Impersonate-Extra-{quote(key.lower(), safe='')}", value)
        for key, values in user.extra.items()
        for value in values
    ]
    # Go reads header bytes as UTF-8, http.client writes text as Latin-1.
    return tuple((name, value.encode().decode("latin-1")) for name, value in headers)
