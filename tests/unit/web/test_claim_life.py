from datetime import timedelta

from dra_console.mirror.models import ResourceClaim
from dra_console.scheduling.models import Attempt
from dra_console.web.presenters.claim_life import timeline_of
from tests.unit.web.states import NOW


def an_attempt(headline: str, *, seconds_ago: float, repeats: int = 0) -> Attempt:
    return Attempt(headline=headline, last_at=NOW - timedelta(seconds=seconds_ago), repeats=repeats)


def test_attempts_in_a_row_that_said_the_same_are_one_happening() -> None:
    attempts = [
        an_attempt("None is free.", seconds_ago=1),
        an_attempt("None is free.", seconds_ago=9, repeats=3),
        an_attempt("2 are free, 4 wanted.", seconds_ago=20),
        an_attempt("None is free.", seconds_ago=30),
        an_attempt("None is free.", seconds_ago=40),
    ]

    timeline = timeline_of(ResourceClaim(), changes=(), prepared=(), attempts=attempts)

    assert [one.detail for one in timeline] == [
        "None is free. (4 more tries said the same)",
        "2 are free, 4 wanted.",
        "None is free. (1 more try said the same)",
    ]
    assert timeline[0].at == NOW - timedelta(seconds=1)
