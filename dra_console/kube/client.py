"""The API server's verbs on raw JSON objects, as one identity.

Objects go in and come out as the API server spells them in v1 (`JsonObject`), fields that
this console does not know included. Where the server speaks an older version, they are
translated here and nowhere else (`served`, `shapes`).
"""

from collections.abc import Iterator
from typing import Final, Self

from dra_console.allocator.model import JsonObject
from dra_console.kube import credentials
from dra_console.kube.changed import ChangedPage, IsKnown, changed_pages_of
from dra_console.kube.connection import Connection
from dra_console.kube.errors import ExpiredError
from dra_console.kube.identity import User
from dra_console.kube.kinds import PODS, Kind
from dra_console.kube.lists import Listed, Selection, pages_of, whole_list
from dra_console.kube.session import Session
from dra_console.kube.shapes import written_as
from dra_console.kube.transport import Request, Transport
from dra_console.kube.writes import can_patch, identity_in, patch_by_replacing, write_options

__all__ = ["Client", "Listed", "User"]
"""A client is spoken to in terms of the other two."""

MERGE_PATCH: Final = "application/merge-patch+json"


class Client:
    """Speaks to one API server as itself or, with impersonation, as somebody else."""

    def __init__(self, session: Session) -> None:
        """Speak over `session`, which `listwatch` shares."""
        self.session = session

    @classmethod
    def from_kubeconfig(cls, path: str, *, context: str = "") -> Self:
        """Use one context of a kubeconfig file; empty means its current one.

        Raises:
            KubeconfigError: the file or the context cannot be used.

        """
        return cls._as(credentials.from_kubeconfig(path, context=context))

    @classmethod
    def in_cluster(cls) -> Self:
        """Use the pod's service account.

        Raises:
            KubeconfigError: this process runs in no pod.

        """
        return cls._as(credentials.in_cluster())

    @classmethod
    def _as(cls, load: credentials.Load) -> Self:
        return cls(Session.over(Transport(Connection(load))))

    def as_user(self, user: User) -> "Client":
        """Act as `user` over the same connections; the API server checks that we may."""
        return Client(self.session.impersonating(user))

    def get(self, kind: Kind, name: str, *, namespace: str | None = None) -> JsonObject:
        """Read one object.

        Raises:
            NotFoundError: there is none, or the kind is not served.

        """
        return self.session.speak(
            kind,
            lambda served: Request("GET", served.path(namespace, name), repeats_harmlessly=True),
        )

    def read(self, path: str) -> JsonObject:
        """Read what is no object, such as `/version`."""
        return self.session.exchange(Request("GET", path, repeats_harmlessly=True))

    def changed_pages(self, kind: Kind, *, is_known: IsKnown) -> Iterator[ChangedPage]:
        """Read all objects of one resource version page by page, decoding none that `is_known`.

        Raises:
            ExpiredError: the server forgot the list's version in its middle; begin again.

        """
        return changed_pages_of(self.session.fetch, kind, is_known=is_known)

    def list(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Listed:
        """Read all objects at once.

        If the server forgets the version in mid-list, they are read in one answer instead.
        """
        selection = Selection(kind, namespace, label_selector, field_selector)
        try:
            pages = list(pages_of(self.session.ask, selection))
        except ExpiredError:
            return whole_list(self.session.ask, selection)
        return Listed([item for page in pages for item in page.items], pages[-1].resource_version)

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
        return self.session.speak(
            kind,
            lambda served: Request(
                "POST",
                served.path(namespace),
                query=write_options(dry_run=dry_run),
                body=written_as(body, served=served),
            ),
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
        namespace, name = identity_in(body)
        return self.session.speak(
            kind,
            lambda served: Request(
                "PUT",
                served.path(namespace, name, subresource),
                query=write_options(dry_run=dry_run),
                body=written_as(body, served=served),
            ),
        )

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
        if not can_patch(patch, served=self.session.versions.of(kind)):
            return patch_by_replacing(
                patch,
                read=lambda: self.get(kind, name, namespace=namespace),
                replace=lambda body: self.replace(kind, body, subresource=subresource),
            )
        return self.session.speak(
            kind,
            lambda served: Request(
                "PATCH",
                served.path(namespace, name, subresource),
                query=write_options(),
                body=patch | ({"apiVersion": served.api_version} if "apiVersion" in patch else {}),
                content_type=MERGE_PATCH,
            ),
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
        self.session.ask(
            kind, lambda served: Request("DELETE", served.path(namespace, name), body=options)
        )

    def bind_pod(
        self, namespace: str, name: str, *, node_name: str, uid: str, resource_version: str = ""
    ) -> None:
        """Bind a pod to a node, as a scheduler does.

        Raises:
            ConflictError: it is bound already, or is not the pod of that `uid` and, if one is
                given, `resource_version`.

        """
        metadata: JsonObject = {"namespace": namespace, "name": name, "uid": uid}
        if resource_version:
            metadata["resourceVersion"] = resource_version
        binding: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        self.session.exchange(Request("POST", PODS.path(namespace, name, "binding"), body=binding))

    def review(self, kind: Kind, body: JsonObject) -> JsonObject:
        """Post a review, which the server answers and does not store."""
        return self.session.exchange(
            Request("POST", kind.path(), body=body, repeats_harmlessly=True)
        )

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self.session.close()
