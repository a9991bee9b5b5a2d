import re

from hypothesis import given
from hypothesis import strategies as st

from nodeagent.devices.mig import (
    Partition,
    counter_set,
    counters_drawn,
    device_name,
    places,
)
from nodeagent.devices.profiles import A100_40GB

PROFILES = A100_40GB.mig_profiles
PLACES = [Partition(profile, start, None) for profile, start in places(PROFILES)]
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def fits_the_counters(partitions: list[Partition]) -> bool:
    left = counter_set(PROFILES)
    for partition in partitions:
        for counter, amount in counters_drawn(partition).items():
            left[counter] -= amount
    return all(amount >= 0 for amount in left.values())


def is_possible_on_the_board(partitions: list[Partition]) -> bool:
    """NVIDIA's rules: no memory slice twice, and one instance with the media engines."""
    slices = [index for partition in partitions for index in partition.slices]
    with_media = [partition for partition in partitions if partition.profile.jpeg_engines]
    return len(slices) == len(set(slices)) and len(with_media) <= 1


@given(st.lists(st.sampled_from(PLACES), max_size=8, unique=True))
def test_counters_allow_exactly_what_the_board_allows(partitions: list[Partition]) -> None:
    assert fits_the_counters(partitions) == is_possible_on_the_board(partitions)


@given(st.lists(st.sampled_from(PLACES), min_size=1, max_size=8, unique=True))
def test_a_part_of_what_fits_fits_too(partitions: list[Partition]) -> None:
    if fits_the_counters(partitions):
        assert fits_the_counters(partitions[:-1])


def test_seven_of_the_smallest_profile_fit_and_the_eighth_has_no_place() -> None:
    smallest = [partition for partition in PLACES if partition.profile.name == "1g.5gb"]

    assert len(smallest) == 7
    assert fits_the_counters(smallest)


def test_the_whole_board_as_one_partition_excludes_every_other() -> None:
    whole = next(partition for partition in PLACES if partition.profile.name == "7g.40gb")
    others = [partition for partition in PLACES if partition != whole]

    assert fits_the_counters([whole])
    assert not any(fits_the_counters([whole, other]) for other in others)


def test_counters_never_draw_zero() -> None:
    assert all(amount > 0 for partition in PLACES for amount in counters_drawn(partition).values())


def test_a_board_in_mig_mode_has_twenty_five_places_largest_first() -> None:
    names = [profile.name for profile, _ in places(PROFILES)]

    assert len(names) == 25
    assert names[0] == "7g.40gb"
    assert names[1] == "4g.20gb"
    assert set(names[-18:]) == {"1g.5gb", "1g.5gb+me", "1g.10gb"}


def test_partition_names_are_dns_labels_and_name_the_place() -> None:
    names = [device_name(0, partition) for partition in PLACES]

    assert "gpu-0-mig-1g5gb-19-2" in names
    assert "gpu-0-mig-1g5gb-me-20-0" in names
    assert all(DNS_LABEL.fullmatch(name) for name in names)
    assert len(set(names)) == len(names)
