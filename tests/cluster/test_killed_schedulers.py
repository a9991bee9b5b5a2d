"""A thousand rounds of killed schedulers on an API server that fails, on both databases at once.

They need no real Kubernetes, but a quarter of an hour: see `tests/integration/scheduling/faults`.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from dra_console.scheduling.writing.points import Moment, WritePoint
from tests.integration.scheduling.faults.command import played
from tests.integration.scheduling.faults.proxy import Fault

ROUNDS = 1000
DATABASES = ("sqlite", "postgresql")
SEED = 20261130
WRITES = ("claim", "claim status", "binding")


@pytest.mark.long
@pytest.mark.timeout(3 * 3600)
def test_in_a_thousand_rounds_no_device_is_given_twice_and_every_claim_ends_whole_or_free() -> None:
    play = partial(played, rounds=ROUNDS // len(DATABASES), seed=SEED)
    with ThreadPoolExecutor(len(DATABASES)) as pool:
        reports: list[Any] = [*pool.map(lambda name: play(database=name), DATABASES)]

    ends, faults = Counter[str](), Counter[str]()
    for report in reports:
        ends.update(report["ends"])
        faults.update(report["faults"])
    every_end = {f"killed {moment} {point}" for point in WritePoint for moment in Moment}
    every_fault = {f"{fault}: {write}" for fault in Fault for write in WRITES}
    stories = [line for report in reports for line in report["story"]]
    assert [report["violations"] for report in reports] == [[], []], "\n".join(stories)
    assert sum(report["rounds"] for report in reports) == ROUNDS
    assert every_end - ends.keys() == set()
    assert every_fault - faults.keys() == set()
    assert any(end.startswith("stopped") for end in ends)
