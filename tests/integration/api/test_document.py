"""The OpenAPI document describes what is there, and what is there keeps to it."""

import json
import re
from http import HTTPStatus
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema

from dra_console.api.urls import router


def test_the_document_is_valid_openapi_3_1_and_made_without_a_warning(tmp_path: Path) -> None:
    printed = tmp_path / "schema.json"

    call_command(
        "spectacular", "--fail-on-warn", "--validate", "--format=openapi-json", f"--file={printed}"
    )

    document = json.loads(printed.read_text())
    validate_schema(document)  # type: ignore[no-untyped-call]  # drf-spectacular leaves it untyped
    assert document["openapi"].startswith("3.1")


def test_the_document_is_served_as_json_and_as_yaml(as_nobody: Client) -> None:
    as_json = as_nobody.get("/api/schema/")
    as_yaml = as_nobody.get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi"})

    assert as_json.json()["openapi"].startswith("3.1")
    assert as_yaml.content.startswith(b"openapi: 3.1")


def test_every_address_of_the_router_is_described(as_nobody: Client) -> None:
    described = as_nobody.get("/api/schema/").json()["paths"]

    plurals = {re.split(r"[/{]", path.removeprefix("/api/v1/"))[0] for path in described}
    assert plurals == {prefix for prefix, _, _ in router.registry}


def test_every_operation_is_closed_to_strangers(as_nobody: Client) -> None:
    for path in as_nobody.get("/api/schema/").json()["paths"].values():
        for operation in path.values():
            assert {"token": []} in operation["security"]
            assert {} not in operation["security"]


def test_the_viewer_loads_nothing_from_elsewhere_and_holds_no_inline_script(
    as_reader: Client,
) -> None:
    answer = as_reader.get("/api/docs/")

    page = answer.content.decode()
    assert answer.status_code == HTTPStatus.OK
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert address.startswith("/")
    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert "style=" not in page
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


@pytest.mark.django_db
def test_strangers_are_sent_to_the_log_in() -> None:
    answer = Client().get("/api/docs/")

    assert answer.status_code == HTTPStatus.FOUND
    assert answer.headers["Location"].startswith("/login/")


def test_every_address_is_in_the_guide(as_nobody: Client) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "rest-api.md").read_text(encoding="utf-8")

    described = as_nobody.get("/api/schema/").json()["paths"]

    assert set(re.findall(r"^\| `(/api/v1/[^`]*)`", guide, flags=re.MULTILINE)) == set(described)


def test_every_problem_type_is_in_the_guide() -> None:
    root = Path(__file__).parents[3]
    guide = (root / "docs" / "rest-api.md").read_text(encoding="utf-8")
    rooms = (root / "dra_console" / "api").glob("*.py")

    raised = {
        kind
        for room in rooms
        for kind in re.findall(
            r'HTTPStatus\.[A-Z_]+,?:?\s+"([a-z-]+)"|kind="([a-z-]+)"',
            room.read_text(encoding="utf-8"),
        )
    }

    kinds = {one or other for one, other in raised}
    assert len(kinds) > 10
    assert {kind for kind in kinds if f"`{kind}`" not in guide} == set()
