"""Cases that people met: that every check of every case is decided somewhere.

The kinds that the allocator knows are decided in `test_cases` and `test_cases_objects`, all of
them. Every other check stands here with the file whose test decides it, and that file names the
case. A new kind of check, or a new case, fails until somebody decides.
"""

from pathlib import Path

import pytest

from tests.unit.allocator import test_cases, test_cases_objects
from tests.unit.allocator.golden_cases import Case, read_cases

ROOT = Path(__file__).parents[3]
NODE_AGENT = "tests/unit/nodeagent/test_cases.py"
CONTROLLER = "tests/integration/devcluster/test_resourceclaim_controller.py"
KUBELET = "tests/unit/devcluster/test_kubelet_claim_rules.py"
POD_RULES = "tests/unit/devcluster/test_cases.py"

DECIDED = {
    "allocate": test_cases,
    "allocate-sequence": test_cases,
    "allocate-after-sync": test_cases,
    "allocate-pod": test_cases,
    "invariant": test_cases,
    "time-limit": test_cases,
    "validate": test_cases_objects,
    "roundtrip": test_cases_objects,
}
"""Kinds of checks that are run here, and where."""

ELSEWHERE = {
    ("022-duplicate-device-in-pool", "sync"): NODE_AGENT,
    ("039-reserved-for-256", "reserve"): CONTROLLER,
    ("039-reserved-for-256", "scenario"): CONTROLLER,
    ("041-deallocate-after-last-consumer", "reconcile"): CONTROLLER,
    ("042-generated-claim-after-completion", "reconcile"): CONTROLLER,
    ("042-generated-claim-after-completion", "state"): CONTROLLER,
    ("046-pod-with-node-name", "prepare"): KUBELET,
    ("046-pod-with-node-name", "reconcile"): CONTROLLER,
    ("051-split-at-128-devices", "sync"): NODE_AGENT,
    ("055-opaque-config-precedence", "prepare"): NODE_AGENT,
    ("057-claim-with-two-drivers", "prepare"): NODE_AGENT,
    ("060-second-claim-on-prepared-device", "invariant"): NODE_AGENT,
    ("060-second-claim-on-prepared-device", "prepare-sequence"): NODE_AGENT,
    ("062-unprepare-only-by-last-user", "prepare-sequence"): NODE_AGENT,
    ("063-container-to-device-mapping", "container-devices"): NODE_AGENT,
    ("064-cdi-empty-edits", "prepare"): NODE_AGENT,
    ("064-cdi-empty-edits", "unprepare"): NODE_AGENT,
}
"""Checks of what is no library's business: which file decides them."""

PAGES = {
    "010-class-without-selectors",
    "020-incomplete-pool",
    "063-container-to-device-mapping",
}
"""Cases with a check `ui`: a tester looks at a page."""

CASES = {case.name: case for case in read_cases()}


def kinds(case: Case) -> set[str]:
    return {str(check["op"]) for check in case.checks}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_check_is_decided_here_or_in_a_file_that_is_named(case: Case) -> None:
    for kind in kinds(case):
        is_elsewhere = (case.name, kind) in ELSEWHERE
        is_page = kind == "ui" and case.name in PAGES
        assert (kind in DECIDED) + is_elsewhere + is_page > 0, f"{case.name}: who decides {kind}?"


@pytest.mark.parametrize(("key", "path"), ELSEWHERE.items(), ids=map(" ".join, ELSEWHERE))
def test_the_file_that_is_named_has_a_test_of_the_case(key: tuple[str, str], path: str) -> None:
    name, kind = key

    assert kind in kinds(CASES[name])
    text = (ROOT / path).read_text()
    assert f"test_{name[:3]}_" in text or name in text


def test_every_check_that_is_decided_here_is_a_test() -> None:
    """Count the parameters of the tests, so that none is filtered away."""
    asked = {kind: sum(kind in kinds(case) for case in CASES.values()) for kind in DECIDED}
    run = {kind: len({*names(kind)}) for kind in DECIDED}

    assert run == asked | {
        "invariant": asked["invariant"] - 1,
        "validate": asked["validate"] - 1,
    }, "but for the CDI names of 060 and the pods of 043"


def names(kind: str) -> list[str]:
    parameters = DECIDED[kind].checks(kind)
    found = [parameter.values[0].name for parameter in parameters]
    return [name for name in found if (name, kind) not in ELSEWHERE]
