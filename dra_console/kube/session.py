"""One identity's conversation with one API server, in the versions that it serves."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

import urllib3

from dra_console.allocator.model import JsonObject
from dra_console.kube.identity import User, impersonation_headers
from dra_console.kube.kinds import Kind
from dra_console.kube.served import ServedVersions
from dra_console.kube.shapes import read_as_v1, refusals_in_v1
from dra_console.kube.transport import Headers, Request, Transport


class Session:
    """Sends requests as somebody, each in the version in which its kind is served.

    Callers make a request for the kind that they are given: `request_in(served)`. It may be
    asked for twice, when the version that was tried first has just gone.
    """

    def __init__(
        self, transport: Transport, versions: ServedVersions, *, impersonation: Headers = ()
    ) -> None:
        """Share `transport` and what it found out; `impersonation` goes with every request."""
        self._transport = transport
        self._impersonation = impersonation
        self.versions = versions

    @classmethod
    def over(cls, transport: Transport) -> Self:
        """Speak as whom the transport's credentials name."""
        return cls(transport, ServedVersions(partial(transport.exchange, impersonation=())))

    def impersonating(self, user: User) -> "Session":
        """Speak as `user` over the same connections."""
        return Session(self._transport, self.versions, impersonation=impersonation_headers(user))

    def speak(self, kind: Kind, request_in: Callable[[Kind], Request]) -> JsonObject:
        """Send a request about one object, and return the object of the answer in v1."""
        answer, served = self.ask(kind, request_in)
        return read_as_v1(answer, served=served)

    def ask(self, kind: Kind, request_in: Callable[[Kind], Request]) -> tuple[JsonObject, Kind]:
        """Send a request, and return its answer as it came with the version that it came in."""

        def send(served: Kind) -> tuple[JsonObject, Kind]:
            with refusals_in_v1(served):
                return self.exchange(request_in(served)), served

        return self.versions.speaking(kind, send)

    def fetch(self, kind: Kind, request_in: Callable[[Kind], Request]) -> tuple[bytes, Kind]:
        """Send a request, and return its answer undecoded with the version that it came in."""

        def send(served: Kind) -> tuple[bytes, Kind]:
            with refusals_in_v1(served):
                request = request_in(served)
                return self._transport.fetch(request, impersonation=self._impersonation), served

        return self.versions.speaking(kind, send)

    def exchange(self, request: Request) -> JsonObject:
        """Send a request as it is."""
        return self._transport.exchange(request, impersonation=self._impersonation)

    def stream(
        self, kind: Kind, query: Mapping[str, str], *, silence_seconds: float
    ) -> tuple[urllib3.BaseHTTPResponse, Kind]:
        """Open a watch, and return it unread with the version that it speaks.

        Raises:
            ApiError: the server refused, or no answer came.

        """

        def send(served: Kind) -> tuple[urllib3.BaseHTTPResponse, Kind]:
            request = Request("GET", served.path(), query=query)
            response = self._transport.stream(
                request, impersonation=self._impersonation, silence_seconds=silence_seconds
            )
            return response, served

        return self.versions.speaking(kind, send)

    @property
    def is_verified(self) -> bool:
        """Whether it is certain that the API server is the one that the kubeconfig means."""
        return self._transport.connection.is_verified

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self._transport.close()
