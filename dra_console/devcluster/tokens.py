"""Tokens of service accounts: signed here, checked here.

A token is a JWT with the claims that Kubernetes puts into it (KEP-1205, node claims KEP-4193),
signed with HMAC-SHA256 and a key in the data directory, so that tokens outlive a restart.
Nobody but this server has to check them: others ask with a TokenReview.
"""

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from dra_console.allocator.model import Json, JsonObject

KEY_FILE: Final = "service-account.key"
KEY_BYTES: Final = 32
ISSUER: Final = "https://kubernetes.default.svc"
DEFAULT_AUDIENCE: Final = ISSUER
PRIVATE_CLAIMS: Final = "kubernetes.io"


class TokenError(Exception):
    """A token that this server did not sign, or that is over; the message says which."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a token is bound to."""

    name: str
    uid: str

    def to_json(self) -> JsonObject:
        return {"name": self.name, "uid": self.uid}


@dataclass(frozen=True, slots=True)
class ServiceAccountToken:
    """What a token says."""

    namespace: str
    account: Reference
    audiences: tuple[str, ...]
    issued_at: int
    """Seconds since 1970, as all times in a token."""

    expires_at: int
    token_id: str
    pod: Reference | None = None
    node: Reference | None = None

    @property
    def username(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.account.name}"

    def to_json(self) -> JsonObject:
        private: JsonObject = {
            "namespace": self.namespace,
            "serviceaccount": self.account.to_json(),
        }
        if self.pod is not None:
            private["pod"] = self.pod.to_json()
        if self.node is not None:
            private["node"] = self.node.to_json()
        return {
            "iss": ISSUER,
            "sub": self.username,
            "aud": list(self.audiences),
            "iat": self.issued_at,
            "nbf": self.issued_at,
            "exp": self.expires_at,
            "jti": self.token_id,
            PRIVATE_CLAIMS: private,
        }


@dataclass(frozen=True, slots=True)
class Signer:
    """The key that signs and checks tokens."""

    key: bytes

    @classmethod
    def from_directory(cls, directory: Path) -> "Signer":
        """Read the key of a data directory, or make one that only its owner can read."""
        path = directory / KEY_FILE
        if not path.exists():
            fresh = path.with_suffix(".new")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            fresh.rename(path)
        return cls(path.read_bytes())

    def sign(self, token: ServiceAccountToken) -> str:
        """Spell a token."""
        header = _encode(orjson.dumps({"alg": "HS256", "typ": "JWT"}))
        signed = f"{header}.{_encode(orjson.dumps(token.to_json()))}"
        return f"{signed}.{_encode(self._signature(signed))}"

    def read(self, token: str, *, now_seconds: float) -> ServiceAccountToken:
        """Check a token's signature and time.

        Raises:
            TokenError: it was not signed here, or is not valid at this time.

        """
        signed, _, signature = token.rpartition(".")
        try:
            genuine = hmac.compare_digest(_decode(signature), self._signature(signed))
            payload: Json = orjson.loads(_decode(signed.partition(".")[2])) if genuine else None
        except (binascii.Error, ValueError) as error:
            raise TokenError("the token is not well-formed") from error
        if not isinstance(payload, dict):
            raise TokenError("the token was not signed by this server")
        read = _token(payload)
        if not read.issued_at <= now_seconds < read.expires_at:
            raise TokenError("the token is not valid at this time")
        return read

    def _signature(self, signed: str) -> bytes:
        return hmac.new(self.key, signed.encode(), hashlib.sha256).digest()


def _token(payload: JsonObject) -> ServiceAccountToken:
    # The signature was checked, so the payload is one that `to_json` made.
    private = payload[PRIVATE_CLAIMS]
    audiences, issued_at, expires_at = payload["aud"], payload["iat"], payload["exp"]
    if not isinstance(private, dict) or not isinstance(audiences, list):
        raise TokenError("the token has no Kubernetes claims")
    if not isinstance(issued_at, int) or not isinstance(expires_at, int):
        raise TokenError("the token has no times")
    account = _reference(private.get("serviceaccount"))
    if account is None:
        raise TokenError("the token names no service account")
    return ServiceAccountToken(
        namespace=str(private["namespace"]),
        account=account,
        audiences=tuple(str(audience) for audience in audiences),
        issued_at=issued_at,
        expires_at=expires_at,
        token_id=str(payload["jti"]),
        pod=_reference(private.get("pod")),
        node=_reference(private.get("node")),
    )


def _reference(value: Json) -> Reference | None:
    if not isinstance(value, dict):
        return None
    return Reference(str(value["name"]), str(value["uid"]))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
