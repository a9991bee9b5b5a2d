"""Raw JSON over the Kubernetes client's own connection pool.

From the `kubernetes` package come what is tedious and security-relevant: kubeconfig, in-cluster
token refresh, client certificates and the pool made from them. Its typed models stay out, they
cost more than the request itself and drop fields that they do not know.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final, Self
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from nodeagent import __version__
from nodeagent.fields import Json, JsonObject
from nodeagent.kube.errors import (
    CredentialsError,
    NotServedError,
    UnreachableError,
    status_error,
)
from nodeagent.kube.rights import needed_rule

REQUEST_SECONDS: Final = 10
CONNECT_SECONDS: Final = 5
WATCH_SILENCE_SECONDS: Final = 30
"""Added to a watch's own length: a server that is silent for longer than that is gone."""

APPLY: Final = "application/apply-patch+yaml"
"""Server-side apply, the only kind of patch that the agent sends. JSON is YAML, too."""

POOLED_CONNECTIONS: Final = 8
MESSAGE_CHARACTERS: Final = 500
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404


class Client:
    """Requests to one API server under one identity. Safe to share between threads."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        configuration.connection_pool_maxsize = POOLED_CONNECTIONS
        self._pool = RESTClientObject(configuration).pool_manager

    @classmethod
    def from_kubeconfig(cls, path: str) -> Self:
        """Use a kubeconfig's current context.

        Raises:
            CredentialsError: the file is absent or cannot be used.

        """
        configuration = Configuration()
        try:
            load_kube_config(path, client_configuration=configuration)  # type: ignore[no-untyped-call] # kubernetes types only its models
        except (ConfigException, OSError) as error:
            raise CredentialsError(f"kubeconfig {path}: {error}") from error
        return cls(configuration)

    @classmethod
    def in_cluster(cls) -> Self:
        """Use the pod's projected service-account token, which is re-read when it is renewed.

        Raises:
            CredentialsError: this process does not run in a pod.

        """
        configuration = Configuration()
        try:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # kubernetes types only its models
        except ConfigException as error:
            raise CredentialsError(f"in-cluster credentials: {error}") from error
        return cls(configuration)

    @classmethod
    def of(cls, kubeconfig: str | None) -> Self:
        """Use a kubeconfig, or without one the pod's own account.

        Raises:
            CredentialsError: they cannot be used.

        """
        return cls.in_cluster() if kubeconfig is None else cls.from_kubeconfig(kubeconfig)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
    ) -> JsonObject:
        """Send one request and return the object that it answers with.

        Raises:
            StatusError: the server refused; a subclass says which way.
            UnreachableError: no answer came within the time.

        """
        headers = self._headers()
        if body is not None:
            headers["Content-Type"] = APPLY if method == "PATCH" else "application/json"
        try:
            response = self._pool.request(
                method,
                self._configuration.host + path + (f"?{urlencode(query)}" if query else ""),
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=REQUEST_SECONDS),
                retries=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"{method} {path}: {error}") from error
        return _answer(response, asked=f"{method} {path}")

    def stream(
        self, path: str, *, query: Mapping[str, str], window_seconds: int
    ) -> Iterator[JsonObject]:
        """Yield the JSON lines of a watch until the server ends it.

        Raises:
            StatusError: the server refused the watch itself.
            UnreachableError: the connection broke.

        """
        try:
            response = self._pool.request(
                "GET",
                self._configuration.host + path,
                fields={**query, "timeoutSeconds": str(window_seconds)},
                headers=self._headers(),
                timeout=urllib3.Timeout(
                    connect=CONNECT_SECONDS, read=window_seconds + WATCH_SILENCE_SECONDS
                ),
                retries=False,
                preload_content=False,
            )
            if response.status >= 400:  # noqa: PLR2004 - HTTP's own boundary of failures
                _answer(response, asked=f"GET {path}?watch=true")
            yield from _lines(response)
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"watch {path}: {error}") from error

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"dra-nodeagent/{__version__}"}
        bearer = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        if bearer is not None:
            headers["Authorization"] = bearer
        return headers


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[JsonObject]:
    rest = b""
    try:
        for chunk in response.stream(amt=None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (_object(line, asked="watch") for line in lines if line.strip())
    finally:
        # Half a line means that the connection broke; closing keeps it out of the pool.
        response.close()


def _answer(response: urllib3.BaseHTTPResponse, *, asked: str) -> JsonObject:
    body = response.data
    if response.status < 400:  # noqa: PLR2004 - HTTP's own boundary of failures
        return _object(body, asked=asked)
    status: JsonObject = {}
    try:
        status = _object(body, asked=asked)
        message = status.get("message")
    except UnreachableError:
        message = body.decode(errors="replace")[:MESSAGE_CHARACTERS]
    rule = needed_rule(*asked.split(" ", 1)) if response.status == FORBIDDEN else None
    words = f"{asked}: {message or response.reason}" + (f"; needed is {rule}" if rule else "")
    if response.status == NOT_FOUND and not _names_an_object(status):
        raise NotServedError(NOT_FOUND, words)
    raise status_error(
        response.status,
        words,
        retry_after_seconds=_seconds(response.headers.get("Retry-After")),
    )


def _names_an_object(status: JsonObject) -> bool:
    """Tell whether a server says what is not there, as it does not of kinds and versions."""
    details = status.get("details")
    return isinstance(details, dict) and bool(details.get("name"))


def _object(body: bytes, *, asked: str) -> JsonObject:
    try:
        decoded: Json = json.loads(body)
    except ValueError as error:
        raise UnreachableError(f"{asked}: the answer is not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise UnreachableError(f"{asked}: the answer is not a JSON object")
    return decoded


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:
        return None
