"""Requests that keep to the document, and some that do not, never break the server.

Slow, since each operation is tried with many generated requests against a real API server.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from dra_console.mirror.models import Cluster
from tests.builders.accounts import a_token
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror

pytestmark = pytest.mark.long

EXAMPLES = 12
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

tried = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def connection_of_the_test() -> Iterator[None]:
    """Keep the test's transaction open between requests, as Django's own client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_generated_request_breaks_the_server(
    admin: User, cluster: Cluster, mode: GenerationMode
) -> None:
    mirror(cluster, *a_fleet())
    headers = {"Authorization": f"Bearer {a_token(admin)}"}
    document = schemathesis.openapi.from_wsgi(
        "/api/schema/", get_wsgi_application(), headers=headers
    )
    operations = [found.ok() for found in document.get_all_operations() if isinstance(found, Ok)]

    for operation in operations:

        @tried
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_one(case: Case[Any]) -> None:
            case.call_and_validate(headers=headers, checks=CHECKS)

        try_one()

    assert len(operations) > 10
