"""Words for NVML's numbers (node-agent.md 5.3, 5.4)."""

from typing import Final

ARCHITECTURES: Final = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
BRANDS: Final = (
    "Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC",
    "NvidiaVCS", "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia",
    "GeForceRTX", "TitanRTX",
)  # fmt: skip
ECC_MODES: Final = ("disabled", "enabled")
ADDRESSING_MODES: Final = {0: "None", 1: "HMM", 2: "ATS"}
VIRTUALIZATION: Final = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
VGPU: Final = "vgpu"
DISPLAY_ONLY: Final = ("DGX Display",)
"""Parts of product names of boards that compute nothing for anybody."""

MIG_PROFILES: Final = {
    0x0: (1, ""), 0x1: (2, ""), 0x2: (3, ""), 0x3: (4, ""), 0x4: (7, ""), 0x5: (8, ""),
    0x6: (6, ""), 0x7: (1, "+me"), 0x8: (2, "+me"), 0x9: (1, ""), 0xA: (1, "+gfx"),
    0xB: (2, "+gfx"), 0xC: (4, "+gfx"), 0xD: (1, "-me"), 0xE: (2, "-me"), 0xF: (1, "+me.all"),
    0x10: (2, "+me.all"), 0x11: (3, "+gfx"),
}  # fmt: skip
"""By index of NVML's enumeration: compute slices, and what the profile's name ends in."""

COMPUTE_PROFILES: Final = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}
"""By number of slices: index of the compute instance profile with that many."""


def architecture(number: int | None) -> str | None:
    """Name an architecture; one that is newer than this list is `Unknown`."""
    return None if number is None else ARCHITECTURES.get(number, "Unknown")


def brand(number: int | None) -> str | None:
    """Name a brand."""
    if number is None:
        return None
    return BRANDS[number] if 0 <= number < len(BRANDS) else "Unknown"


def mig_profile_name(index: int, *, profile_bytes: int, gpu_bytes: int) -> str:
    """Name a profile as in `1g.5gb+me`, for drivers that do not say its name.

    The memory in the name is an eighth of the board's, or several, not the profile's own.
    """
    slices, suffix = MIG_PROFILES[index]
    eighths = -(-8 * profile_bytes // gpu_bytes)
    gibibytes = -(-gpu_bytes // (1 << 30))
    # Halves go up, unlike with `round`.
    return f"{slices}g.{(eighths * gibibytes + 4) // 8}gb{suffix}"
