"""From a request's path to what it addresses."""

from dataclasses import dataclass

from dra_console.devcluster.authz import Attributes
from dra_console.devcluster.errors import MethodNotAllowedError
from dra_console.devcluster.resources import BY_PATH, Resource, Subresource
from dra_console.kube.kinds import NAMESPACES, Kind

METHODS_OF_ONE = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
METHODS_OF_MANY = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path addresses: a collection, an object, or a part of an object."""

    resource: Resource
    namespace: str | None
    """`None` for cluster-scoped kinds and for all namespaces."""

    name: str = ""
    subresource: Subresource | None = None

    @property
    def kind(self) -> Kind:
        return self.resource.kind

    def verb(self, method: str, *, watch: bool) -> str:
        """Return the API verb of a request.

        Raises:
            MethodNotAllowedError: the target does not know the method.

        """
        if self.subresource is not None:
            verb = "create" if method == "POST" else METHODS_OF_ONE.get(method, "")
            known = self.subresource.verbs
        else:
            verb = (METHODS_OF_ONE if self.name else METHODS_OF_MANY).get(method, "")
            known = self.resource.verbs
        if verb not in known or (verb == "create" and self._lacks_namespace):
            message = "the server does not allow this method on the requested resource"
            raise MethodNotAllowedError(message, kind=self.kind, name=self.name)
        return "watch" if verb == "list" and watch else verb

    def attributes(self, verb: str) -> Attributes:
        """Return what authorisation asks about."""
        # A namespace counts as being in itself, so that a right within it covers reading it.
        within = self.name if self.kind == NAMESPACES else self.namespace
        return Attributes(
            verb=verb,
            group=self.kind.group,
            resource=self.kind.plural,
            subresource=self.subresource.name if self.subresource else "",
            namespace=within or "",
            name=self.name,
        )

    @property
    def _lacks_namespace(self) -> bool:
        return self.kind.namespaced and self.namespace is None


def parse_path(path: str) -> Target | None:
    """Read a path below `/api/v1` or `/apis/<group>/v1`; `None` where nothing is served."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, *rest]:
            return _target("", version, rest)
        case ["apis", group, version, *rest]:
            return _target(group, version, rest)
        case _:
            return None


def _target(group: str, version: str, rest: list[str]) -> Target | None:
    match rest:
        case ["namespaces", namespace, plural, *tail]:
            resource = BY_PATH.get((group, version, plural))
            if resource is not None and resource.kind.namespaced:
                return _within(resource, namespace, tail)
    match rest:
        case [plural, *tail]:
            resource = BY_PATH.get((group, version, plural))
            # Objects of namespaced kinds have no path without their namespace.
            if resource is not None and not (resource.kind.namespaced and tail):
                return _within(resource, None, tail)
    return None


def _within(resource: Resource, namespace: str | None, tail: list[str]) -> Target | None:
    match tail:
        case []:
            return Target(resource, namespace)
        case [name]:
            return Target(resource, namespace, name)
        case [name, part]:
            for subresource in resource.subresources:
                if subresource.name == part:
                    return Target(resource, namespace, name, subresource)
    return None
