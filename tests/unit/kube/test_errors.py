import pytest

from dra_console.kube.errors import (
    ApiError,
    Cause,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    error_of,
)


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (400, ApiError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (410, ExpiredError),
        (422, InvalidError),
        (500, ApiError),
    ],
)
def test_the_status_decides_the_class(status: int, error_class: type[ApiError]) -> None:
    error = error_of(status, {"kind": "Status", "message": "no", "reason": "Because"})

    assert type(error) is error_class
    assert (error.status, error.reason, error.message) == (status, "Because", "no")


def test_causes_name_the_refused_fields() -> None:
    status = {
        "kind": "Status",
        "message": "is invalid",
        "details": {
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": "too long",
                    "field": "spec.devices.requests[0].name",
                },
                {"message": "no field at all"},
                "not a cause",
            ]
        },
    }

    assert error_of(422, status).causes == (
        Cause("spec.devices.requests[0].name", "FieldValueInvalid", "too long"),
        Cause("", "", "no field at all"),
    )


def test_an_error_inside_a_watch_counts_by_its_own_code() -> None:
    error = error_of(0, {"kind": "Status", "code": 410, "message": "too old"})

    assert isinstance(error, ExpiredError)


@pytest.mark.parametrize("body", [None, "bad gateway", [], {"kind": "Pod"}, {"kind": "Status"}])
def test_an_answer_that_explains_nothing_still_says_its_status(body: object) -> None:
    error = error_of(502, body)

    assert error.status == 502
    assert "502" in str(error)
