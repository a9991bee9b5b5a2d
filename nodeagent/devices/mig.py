"""MIG partitions: how they are named, where they may lie, and the counters that they draw on.

A partition is a GPU instance of some profile at some place in the GPU's memory slices. Before
it is created, every (profile, start) pair is offered as a device of its own, and shared counters
say which of them exclude each other (KEP-4815, node-agent.md 5.5): each memory slice is a counter
of one, so overlapping places cannot both be taken; engines and multiprocessors are counted
because some profiles are scarcer than their slices (`+me` has the only JPEG engine).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nodeagent.devices.control import Instance

BYTES_PER_MEBIBYTE = 1 << 20
NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MigProfile:
    """One GPU instance profile of a board, as `nvidia-smi mig -lgip` lists it."""

    id: int
    """NVML's profile id (19, 14, 9, ...), which creation takes; not the enumeration's index."""

    name: str
    """As in `1g.5gb` or `1g.5gb+me`."""

    multiprocessors: int
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int
    memory_mebibytes: int
    memory_slices: int
    """How many memory slices an instance occupies, from its start on."""

    starts: tuple[int, ...]
    """The memory slices at which an instance may begin."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A profile at a place, with or without an instance there."""

    profile: MigProfile
    start: int
    uuid: str | None
    """Known once the driver has an instance there; the simulation knows it before."""

    instance: Instance | None = None
    """What the driver has there now: always with static MIG, while prepared with dynamic MIG."""

    @property
    def slices(self) -> range:
        """The memory slices that it occupies."""
        return range(self.start, self.start + self.profile.memory_slices)


def device_name(parent_minor: int, partition: Partition) -> str:
    """Name a partition as a device, as in `gpu-0-mig-1g5gb-19-2` (a DNS label)."""
    profile = partition.profile.name.lower().replace(".", "")
    label = NOT_IN_A_NAME.sub("-", profile).strip("-")
    return f"gpu-{parent_minor}-mig-{label}-{partition.profile.id}-{partition.start}"


def counter_set_name(parent_minor: int) -> str:
    """Name the counter set that all partitions of one GPU share."""
    return f"gpu-{parent_minor}-counter-set"


def places(profiles: Iterable[MigProfile]) -> tuple[tuple[MigProfile, int], ...]:
    """List every profile at every start, large profiles first, then by profile id and start."""
    by_size = sorted(profiles, key=lambda profile: (-profile.multiprocessors, profile.id))
    return tuple((profile, start) for profile in by_size for start in profile.starts)


def counters_drawn(partition: Partition) -> dict[str, int]:
    """Return what one partition takes from its GPU's counter set; nothing that it does not take.

    Memory is in bytes, everything else in pieces.
    """
    drawn = _engines(partition.profile)
    drawn.update({f"memory-slice-{index}": 1 for index in partition.slices})
    return {counter: amount for counter, amount in drawn.items() if amount}


def counter_set(profiles: Iterable[MigProfile]) -> dict[str, int]:
    """Return what one GPU has: for each counter the most that any profile can have of it."""
    counters: dict[str, int] = {}
    for profile in profiles:
        for start in profile.starts:
            for counter, amount in counters_drawn(Partition(profile, start, None)).items():
                counters[counter] = max(amount, counters.get(counter, 0))
    return counters


def counters_drawn_by_whole(profiles: Iterable[MigProfile]) -> dict[str, int]:
    """Return what the undivided GPU takes when it is offered beside its partitions: everything."""
    return counter_set(profiles)


def _engines(profile: MigProfile) -> dict[str, int]:
    return {
        "multiprocessors": profile.multiprocessors,
        "copy-engines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpeg-engines": profile.jpeg_engines,
        "ofa-engines": profile.ofa_engines,
        "memory": profile.memory_mebibytes * BYTES_PER_MEBIBYTE,
    }


def capacities(profile: MigProfile) -> Mapping[str, int]:
    """Return a partition's capacities beside its memory, under the names that NVIDIA publishes."""
    return MappingProxyType(
        {
            "multiprocessors": profile.multiprocessors,
            "copyEngines": profile.copy_engines,
            "decoders": profile.decoders,
            "encoders": profile.encoders,
            "jpegEngines": profile.jpeg_engines,
            "ofaEngines": profile.ofa_engines,
        }
    )
