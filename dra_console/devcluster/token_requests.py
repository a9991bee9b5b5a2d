"""TokenRequest: how a service account gets a token, possibly bound to a pod or a node."""

import secrets
import time
from datetime import UTC, datetime
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import BadRequestError, Cause, ConflictError, InvalidError
from dra_console.devcluster.http_paths import Target
from dra_console.devcluster.http_request import Request, decode_object
from dra_console.devcluster.http_response import Response, json_response
from dra_console.devcluster.metadata import metadata_of, text, timestamp
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import DEFAULT_AUDIENCE, Reference, ServiceAccountToken
from dra_console.kube.kinds import NODES, PODS, SERVICE_ACCOUNTS, Kind

SHORTEST_TOKEN_SECONDS: Final = 600
LONGEST_TOKEN_SECONDS: Final = 2**32
DEFAULT_TOKEN_SECONDS: Final = 3600
TOKEN_ID_BYTES: Final = 16


def request_token(cluster: Cluster, target: Target, request: Request) -> Response:
    """Issue a token of a service account (TokenRequest).

    Raises:
        InvalidError: a lifetime that is too short or too long, or a bound object of another kind.
        ConflictError: the bound object is another one than was meant.
        NotFoundError: the account or the bound object does not exist.

    """
    namespace = target.namespace or ""
    account = cluster.store.stored(SERVICE_ACCOUNTS, namespace, target.name)
    body = decode_object(request)
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise BadRequestError("spec: expected an object")
    audiences = spec.get("audiences") or [DEFAULT_AUDIENCE]
    if not isinstance(audiences, list) or not all(isinstance(item, str) for item in audiences):
        raise BadRequestError("spec.audiences: expected a list of strings")
    lifetime_seconds = _lifetime_seconds(spec)
    pod, node = _bound(cluster.store, namespace, spec.get("boundObjectRef"))
    issued_at = int(time.time())
    token = ServiceAccountToken(
        namespace=namespace,
        account=Reference(target.name, text(metadata_of(account.value), "uid")),
        audiences=tuple(str(audience) for audience in audiences),
        issued_at=issued_at,
        expires_at=issued_at + lifetime_seconds,
        token_id=secrets.token_hex(TOKEN_ID_BYTES),
        pod=pod,
        node=node,
    )
    answer: JsonObject = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": target.name, "namespace": namespace},
        "spec": {**spec, "audiences": audiences, "expirationSeconds": lifetime_seconds},
        "status": {
            "token": cluster.signer.sign(token),
            "expirationTimestamp": timestamp(datetime.fromtimestamp(token.expires_at, UTC)),
        },
    }
    return json_response(answer, status=201)


def _lifetime_seconds(spec: JsonObject) -> int:
    seconds = spec.get("expirationSeconds")
    if seconds is None:
        return DEFAULT_TOKEN_SECONDS
    if isinstance(seconds, int) and SHORTEST_TOKEN_SECONDS <= seconds <= LONGEST_TOKEN_SECONDS:
        return seconds
    message = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
    if isinstance(seconds, int) and seconds > LONGEST_TOKEN_SECONDS:
        message = f"Invalid value: {seconds}: may not specify a duration larger than 2^32 seconds"
    cause = Cause("spec.expirationSeconds", "FieldValueInvalid", message)
    raise InvalidError(f"spec.expirationSeconds: {message}", causes=(cause,))


def _bound(
    store: Store, namespace: str, reference: Json
) -> tuple[Reference | None, Reference | None]:
    """Return the pod and the node that a token is bound to; a pod brings its node with it."""
    if reference is None:
        return None, None
    kinds = {"Pod": PODS, "Node": NODES}
    word = reference.get("kind") if isinstance(reference, dict) else None
    kind = kinds.get(word) if isinstance(word, str) else None
    if kind is None or not isinstance(reference, dict):
        message = f"Unsupported value: {word!r}: supported values: {', '.join(kinds)}"
        cause = Cause("spec.boundObjectRef.kind", "FieldValueNotSupported", message)
        raise InvalidError(f"spec.boundObjectRef.kind: {message}", causes=(cause,))
    within = namespace if kind.namespaced else ""
    bound = _reference(store, kind, within, str(reference.get("name")), reference.get("uid"))
    if kind == NODES:
        return None, bound
    spec = store.stored(PODS, namespace, bound.name).value.get("spec")
    node_name = spec.get("nodeName") if isinstance(spec, dict) else None
    if not isinstance(node_name, str) or not node_name:
        return bound, None
    return bound, _reference(store, NODES, "", node_name, None)


def _reference(store: Store, kind: Kind, namespace: str, name: str, uid: Json) -> Reference:
    found = text(metadata_of(store.stored(kind, namespace, name).value), "uid")
    if uid and uid != found:
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
        raise ConflictError.of(kind, name, why)
    return Reference(name, found)
