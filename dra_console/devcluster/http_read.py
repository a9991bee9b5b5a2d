"""Get and list.

A list that is cut by `limit` goes on at the version of its first page: the store rolls its
objects back along the event log, so the pages are one consistent picture. When the log no
longer reaches back, the rest of the list is gone (410) and the client starts again.
"""

import base64
import binascii
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

import orjson

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import (
    BadRequestError,
    Cause,
    InvalidError,
    TooLargeVersionError,
)
from dra_console.devcluster.http_paths import Target
from dra_console.devcluster.http_request import Request
from dra_console.devcluster.http_response import Form, Response, accepted_form, json_response
from dra_console.devcluster.metadata import now
from dra_console.devcluster.selectors import Selector, parse_selector
from dra_console.devcluster.store import Store
from dra_console.devcluster.stored import Stored
from dra_console.devcluster.tables import table
from dra_console.kube.kinds import Kind

OBJECT_FORMS: Final = frozenset({Form.OBJECT, Form.TABLE})


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where the next page of a list begins."""

    resource_version: int
    after: tuple[str, str]
    """Namespace and name of the last object of the page before."""

    def to_token(self) -> str:
        value = {"v": "meta.k8s.io/v1", "rv": self.resource_version, "start": list(self.after)}
        return base64.urlsafe_b64encode(orjson.dumps(value)).decode()


def get_object(store: Store, target: Target, request: Request) -> Response:
    """Answer one object, as it is or as a table of one row."""
    stored = store.stored(target.kind, target.namespace or "", target.name)
    return represented(target.kind, stored, request)


def represented(kind: Kind, stored: Stored, request: Request) -> Response:
    """Write one object in the form that the client accepts."""
    if accepted_form(request.header("accept"), offered=OBJECT_FORMS) is Form.OBJECT:
        return Response(stored.raw)
    metadata: JsonObject = {"resourceVersion": str(stored.resource_version)}
    return json_response(_table(kind, (stored,), request, metadata))


def list_objects(store: Store, target: Target, request: Request) -> Response:
    """Answer a list, or a page of one."""
    form = accepted_form(request.header("accept"), offered=OBJECT_FORMS)
    selector = selector_of(target, request)
    continuation = _continuation(request.query.get("continue", ""))
    version = continuation.resource_version if continuation else _list_version(store, request)
    selected = [
        stored
        for stored in store.at(version, target.kind, namespace=target.namespace)
        if selector.matches(stored.value)
    ]
    if continuation is not None:
        keys = [(stored.namespace, stored.name) for stored in selected]
        selected = selected[bisect_right(keys, continuation.after) :]
    limit = request.number("limit") or len(selected)
    page, remaining = selected[:limit], len(selected) - limit
    metadata: JsonObject = {"resourceVersion": str(version)}
    if remaining > 0:
        last = (page[-1].namespace, page[-1].name)
        metadata["continue"] = Continuation(version, last).to_token()
        if selector.is_empty:
            metadata["remainingItemCount"] = remaining
    if form is Form.TABLE:
        return json_response(_table(target.kind, page, request, metadata))
    return Response(list_json(target.kind, page, metadata=metadata))


def list_json(kind: Kind, page: list[Stored], *, metadata: JsonObject) -> bytes:
    """Write a list. Its items say neither `kind` nor `apiVersion`, as with Kubernetes."""
    head: JsonObject = {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": metadata,
    }
    items = b",".join(stored.without_type for stored in page)
    return orjson.dumps(head)[:-1] + b',"items":[' + items + b"]}"


def selector_of(target: Target, request: Request) -> Selector:
    """Read the selectors of a request; a name in the path does not occur with them."""
    return parse_selector(
        target.kind,
        labels=request.query.get("labelSelector", ""),
        fields=request.query.get("fieldSelector", ""),
    )


def resource_version_of(request: Request) -> int:
    """Read `resourceVersion`; absent, empty and `0` are 0.

    Raises:
        BadRequestError: it is no version that this server gives out.

    """
    spelled = request.query.get("resourceVersion", "")
    if not spelled:
        return 0
    if not spelled.isdecimal():
        raise BadRequestError(f"resourceVersion: invalid resource version {spelled!r}")
    return int(spelled)


def _list_version(store: Store, request: Request) -> int:
    version = resource_version_of(request)
    match = request.query.get("resourceVersionMatch", "")
    if match not in {"", "Exact", "NotOlderThan"} or (match and not version):
        message = f"Forbidden: {match!r}: needs resourceVersion; Exact and NotOlderThan are known"
        cause = Cause("resourceVersionMatch", "FieldValueForbidden", message)
        raise InvalidError(f"resourceVersionMatch: {message}", causes=(cause,))
    if version > store.resource_version:
        cause = Cause("", "ResourceVersionTooLarge", "Too large resource version")
        raise TooLargeVersionError(
            f"Too large resource version: {version}, current: {store.resource_version}",
            causes=(cause,),
        )
    return version if match == "Exact" else store.resource_version


def _continuation(token: str) -> Continuation | None:
    if not token:
        return None
    try:
        value = orjson.loads(base64.urlsafe_b64decode(token))
        version, (namespace, name) = value["rv"], value["start"]
        return Continuation(int(version), (str(namespace), str(name)))
    except (binascii.Error, ValueError, TypeError, KeyError) as error:
        raise BadRequestError(f"continue: not a token of this server: {token!r}") from error


def _table(
    kind: Kind, page: list[Stored] | tuple[Stored, ...], request: Request, metadata: JsonObject
) -> JsonObject:
    return table(
        kind,
        (stored.value for stored in page),
        metadata=metadata,
        include=request.query.get("includeObject", "") or "Metadata",
        now=now(),
    )
