"""The files of all profiles: valid as they are, and refused with the reason when broken."""

from collections import Counter
from pathlib import Path

import pytest

from nodeagent.cdi.errors import InvalidSpecError
from nodeagent.cdi.store import CdiStore
from nodeagent.cdi.validate import problems
from nodeagent.cdi.version import minimal_version
from nodeagent.claims.mps import MpsDaemons
from tests.builders.cdi_damage import broken_in_one_field
from tests.builders.cdi_files import DRIVER, ClaimFile, claim_files
from tests.builders.drivers import HOOK, a_driver

PROFILES = (
    "full", "full-without-hooks", "mig", "time-sliced", "mps", "admin", "simulated",
    "simulated-mig",
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ClaimFile]:
    folder = tmp_path_factory.mktemp("node")
    made = claim_files(
        folder / "cdi", a_driver(folder), hook=HOOK, mps=MpsDaemons(directory=folder / "mps")
    )
    return {file.profile: file for file in made}


def test_every_profile_is_here(files: dict[str, ClaimFile]) -> None:
    assert tuple(files) == PROFILES


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profiles_file_is_valid_at_the_smallest_version(
    files: dict[str, ClaimFile], profile: str
) -> None:
    spec = files[profile].spec

    assert problems(spec) == ()
    assert spec["cdiVersion"] == minimal_version(spec)
    # The oldest runtime that kubelets of today meet knows 0.5.0.
    assert str(spec["cdiVersion"]) <= "0.5.0"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profiles_file_broken_by_one_field_is_refused_with_the_reason(
    files: dict[str, ClaimFile], profile: str
) -> None:
    damages = list(broken_in_one_field(files[profile].spec))

    silent = [
        damage.what
        for damage in damages
        if not any(problem.startswith(damage.field) for problem in problems(damage.spec))
    ]

    assert silent == []
    assert len(damages) > 50


def test_a_broken_file_is_never_written(files: dict[str, ClaimFile], tmp_path: Path) -> None:
    store = CdiStore(tmp_path, DRIVER)
    damage = next(broken_in_one_field(files["full"].spec))

    with pytest.raises(InvalidSpecError, match="unheardOf: unknown field"):
        store.write("claim", damage.spec)

    assert list(tmp_path.iterdir()) == []


def test_no_profile_names_a_node_or_a_path_twice(files: dict[str, ClaimFile]) -> None:
    for file in files.values():
        devices: list[dict[str, object]] = file.spec["devices"]  # type: ignore[assignment] # a spec
        for device in devices:
            edits: dict[str, list[dict[str, str]]] = device["containerEdits"]  # type: ignore[assignment] # a spec
            for member, key in (("deviceNodes", "path"), ("mounts", "containerPath")):
                counts = Counter(item[key] for item in edits.get(member, []))
                assert all(count == 1 for count in counts.values()), (file.profile, counts)
