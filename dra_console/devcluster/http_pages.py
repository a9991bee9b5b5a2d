"""The paths that are no resources: health, version, discovery, OpenAPI."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from dra_console.allocator.model import JsonObject
from dra_console.devcluster import discovery, openapi
from dra_console.devcluster.http_request import Request
from dra_console.devcluster.http_response import (
    Form,
    Response,
    accepted_form,
    json_response,
    text_response,
)
from dra_console.devcluster.resources import GROUPS

Page: TypeAlias = Callable[[Request], Response]

DISCOVERY_FORMS: Final = frozenset({Form.OBJECT, Form.AGGREGATED_DISCOVERY})
AGGREGATED_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _fixed(value: JsonObject) -> Page:
    response = json_response(value)
    return lambda _request: response


def _healthy(_request: Request) -> Response:
    return text_response("ok")


def _discovered(plain: JsonObject, groups: tuple[str, ...]) -> Page:
    def page(request: Request) -> Response:
        form = accepted_form(request.header("accept"), offered=DISCOVERY_FORMS)
        if form is Form.OBJECT:
            return json_response(plain)
        body = json_response(discovery.aggregated(groups)).body
        return Response(body, content_type=AGGREGATED_TYPE)

    return page


def _openapi_v2(request: Request) -> Response:
    if "protobuf" in request.header("accept"):
        return Response(openapi.v2_protobuf(), content_type=openapi.OPENAPI_V2_PROTOBUF)
    return json_response(openapi.v2_document())


PAGES: Final[Mapping[str, Page]] = MappingProxyType(
    {
        "/healthz": _healthy,
        "/livez": _healthy,
        "/readyz": _healthy,
        "/version": _fixed(discovery.SERVER_VERSION),
        "/api": _discovered(discovery.api_versions(), ("",)),
        "/apis": _discovered(discovery.api_groups(), GROUPS),
        "/api/v1": _fixed(discovery.resource_list("")),
        **{f"/apis/{group}": _fixed(discovery.api_group(group)) for group in GROUPS},
        **{f"/apis/{group}/v1": _fixed(discovery.resource_list(group)) for group in GROUPS},
        "/openapi/v2": _openapi_v2,
        "/openapi/v3": _fixed(openapi.v3_index()),
        "/openapi/v3/api/v1": _fixed(openapi.v3_document("")),
        **{f"/openapi/v3/apis/{group}/v1": _fixed(openapi.v3_document(group)) for group in GROUPS},
    }
)
"""What answers a GET, by path."""
