from pathlib import Path

import pytest

from dra_console.mirror.inventory import State
from dra_console.web.presenters.tiles import WORDS_OF_AGENTS, Look, Tile, tile_of
from tests.unit.web.states import (
    EVERYBODY,
    RESEARCH,
    a_holder,
    a_reading,
    a_state,
    a_taint,
    an_agent,
    live_state,
)

LIVE = live_state(an_agent(), gpu_0=a_reading())
OURS = a_holder("team-research", "train")
THEIRS = a_holder("team-vision", "secret")


def test_free_device_says_so_and_shows_no_reading() -> None:
    tile = tile_of(a_state(), reader=RESEARCH, live=LIVE)

    assert (tile.look, tile.headline, tile.note) == (Look.FREE, "free", "gpu-0")
    assert not tile.shows_reading


def test_device_of_a_team_of_the_reader_looks_like_theirs() -> None:
    tile = tile_of(a_state(holders=(OURS,)), reader=RESEARCH, live=LIVE)

    assert (tile.look, tile.headline) == (Look.MINE, "team-research")


def test_whoever_may_see_every_claim_owns_none_by_that_alone() -> None:
    tile = tile_of(a_state(holders=(OURS,)), reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.headline) == (Look.HELD, "team-research")


def test_foreign_claim_is_another_team_without_any_name() -> None:
    tile = tile_of(a_state(holders=(THEIRS,)), reader=RESEARCH, live=LIVE)

    assert (tile.look, tile.headline) == (Look.HELD, "other team")
    assert "secret" not in tile.description
    assert "team-vision" not in tile.description


def test_shared_device_counts_its_claims() -> None:
    holders = (OURS, a_holder("team-research", "eval"))

    tile = tile_of(a_state(holders=holders), reader=RESEARCH, live=LIVE)

    assert tile.headline == "team-research ×2"


def test_admin_access_holds_nothing() -> None:
    watching = a_holder("team-vision", "monitor", admin_access=True)

    tile = tile_of(a_state(holders=(watching,)), reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.headline) == (Look.FREE, "free")


def test_taint_of_the_driver_makes_a_device_sick_and_names_the_xid() -> None:
    state = a_state(state=State.TAINTED, taints=(a_taint(time_added="2026-11-29T09:12:00Z"),))

    tile = tile_of(state, reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.headline, tile.note) == (Look.SICK, "XID 79", "for 10 h 48 min")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("gpu.nvidia.com/gpu-lost", "GPU lost"),
        ("gpu.other.example/reset-required", "reset needed"),
        ("gpu.nvidia.com/something-new", "something-new"),
    ],
)
def test_taint_of_a_driver_is_said_in_words_where_there_are_any(key: str, words: str) -> None:
    state = a_state(state=State.TAINTED, taints=(a_taint(key, value=""),))

    assert tile_of(state, reader=EVERYBODY, live=LIVE).headline == words


def test_words_for_taints_are_those_of_keys_that_agents_have() -> None:
    document = (Path(__file__).parents[3] / "docs/node-agent.md").read_text()

    assert all(f"`{key}`" in document for key in WORDS_OF_AGENTS)


def test_taint_of_a_rule_is_a_warning() -> None:
    taint = a_taint("example.org/maintenance", value="fan", rule="drain")

    tile = tile_of(a_state(state=State.TAINTED, taints=(taint,)), reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.headline, tile.note) == (Look.WARN, "maintenance", "tainted")


def test_held_device_stays_held_and_bears_the_mark_of_its_taint() -> None:
    tile = tile_of(a_state(holders=(OURS,), taints=(a_taint(),)), reader=RESEARCH, live=LIVE)

    assert (tile.look, tile.mark, tile.mark_words) == (Look.MINE, Look.SICK, "XID 79")


def test_taint_without_effect_marks_nothing() -> None:
    tile = tile_of(a_state(taints=(a_taint(effect="None"),)), reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.mark) == (Look.FREE, None)


def test_unavailable_device_says_why() -> None:
    state = a_state(state=State.UNAVAILABLE, reason="node gpu-01 is cordoned")

    tile = tile_of(state, reader=EVERYBODY, live=LIVE)

    assert (tile.look, tile.note) == (Look.UNAVAILABLE, "node gpu-01 is cordoned")


def held_tile(**readings: object) -> Tile:
    live = live_state(**readings)  # type: ignore[arg-type]  # agents and readings by name
    return tile_of(a_state(holders=(OURS,)), reader=RESEARCH, live=live)


def test_old_reading_is_kept_and_marked_as_unknown() -> None:
    tile = held_tile(gpu_0=a_reading(age_seconds=41))

    assert tile.is_unknown
    assert tile.reading is not None
    assert tile.reading.utilisation_percent == 97


def test_held_device_without_agent_or_reading_is_unknown() -> None:
    assert held_tile().is_unknown


@pytest.mark.parametrize(("age_seconds", "is_unknown"), [(1, False), (41, True)])
def test_device_that_its_agent_does_not_report_is_as_unknown_as_the_agent_is_silent(
    age_seconds: float, is_unknown: bool
) -> None:
    live = live_state(an_agent(age_seconds=age_seconds))

    tile = tile_of(a_state(holders=(OURS,)), reader=RESEARCH, live=live)

    assert tile.is_unknown is is_unknown
