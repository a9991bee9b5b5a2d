"""The MIG profiles of real boards, as `nvidia-smi mig -lgip` and `-lgipp` list them.

Facts of NVIDIA's MIG guide, for the simulation alone: a real board is asked.
"""

from typing import Final, TypeAlias

from nodeagent.devices.mig import MigProfile

Row: TypeAlias = tuple[int, str, int, int, int, int, int, int, int, tuple[int, ...]]

SEVEN: Final = tuple(range(7))


def _profiles(*rows: Row) -> tuple[MigProfile, ...]:
    return tuple(
        MigProfile(
            id=profile_id,
            name=name,
            multiprocessors=multiprocessors,
            copy_engines=copy_engines,
            decoders=decoders,
            encoders=0,
            jpeg_engines=jpeg_engines,
            ofa_engines=ofa_engines,
            memory_mebibytes=memory_mebibytes,
            memory_slices=memory_slices,
            starts=starts,
        )
        for (
            profile_id,
            name,
            multiprocessors,
            copy_engines,
            decoders,
            jpeg_engines,
            ofa_engines,
            memory_mebibytes,
            memory_slices,
            starts,
        ) in rows
    )


A100_40GB_PROFILES: Final = _profiles(
    # id, name, SMs, copy engines, decoders, JPEG, OFA, MiB, memory slices, starts
    (19, "1g.5gb", 14, 1, 0, 0, 0, 4864, 1, SEVEN),
    (20, "1g.5gb+me", 14, 1, 1, 1, 1, 4864, 1, SEVEN),
    (15, "1g.10gb", 14, 1, 1, 0, 0, 9856, 2, (0, 2, 4, 6)),
    (14, "2g.10gb", 28, 2, 1, 0, 0, 9856, 2, (0, 2, 4)),
    (9, "3g.20gb", 42, 3, 2, 0, 0, 19968, 4, (0, 4)),
    (5, "4g.20gb", 56, 4, 2, 0, 0, 19968, 4, (0,)),
    (0, "7g.40gb", 98, 7, 5, 1, 1, 40192, 8, (0,)),
)
H100_80GB_PROFILES: Final = _profiles(
    (19, "1g.10gb", 16, 1, 1, 1, 0, 9984, 1, SEVEN),
    (20, "1g.10gb+me", 16, 1, 1, 1, 1, 9984, 1, SEVEN),
    (15, "1g.20gb", 16, 1, 1, 1, 0, 20096, 2, (0, 2, 4, 6)),
    (14, "2g.20gb", 32, 2, 2, 2, 0, 20096, 2, (0, 2, 4)),
    (9, "3g.40gb", 60, 3, 3, 3, 0, 40448, 4, (0, 4)),
    (5, "4g.40gb", 64, 4, 4, 4, 0, 40448, 4, (0,)),
    (0, "7g.80gb", 132, 8, 7, 7, 1, 81152, 8, (0,)),
)
