"""What simulated boards tell beyond their readings: what fits those, and nothing that wavers."""

from nodeagent.devices.details import Details
from nodeagent.devices.events import RecoveryAction
from nodeagent.devices.model import Gpu, Reading
from nodeagent.devices.profiles import Board

BUSY_PERCENT = 1
POWER_CAP_FRACTION = 0.97
SLOWDOWN_CELSIUS = 92
MEMORY_WARMER_CELSIUS = 6
RESERVED_FRACTION = 0.008
BAR1_USED_BYTES = 3 << 20
MEMORY_CLOCK_FRACTION = 1.3
PCIE_LANES = 16


def gpu_details(
    reading: Reading,
    gpu: Gpu,
    board: Board,
    *,
    energy_millijoules: int,
    recovery_action: RecoveryAction | None,
) -> Details:
    """Make those of a whole GPU."""
    utilisation, power = reading.utilisation_percent or 0, reading.power_milliwatts or 0
    is_busy = utilisation >= BUSY_PERCENT
    is_capped = power >= POWER_CAP_FRACTION * board.maximum_milliwatts
    return Details(
        device=reading.device,
        memory_reserved_bytes=int(RESERVED_FRACTION * gpu.memory_bytes),
        memory_controller_percent=round(utilisation / 2),
        encoder_percent=0,
        decoder_percent=0,
        bar1_used_bytes=BAR1_USED_BYTES,
        bar1_total_bytes=1 << gpu.memory_bytes.bit_length(),
        power_limit_milliwatts=board.maximum_milliwatts,
        energy_millijoules=energy_millijoules,
        memory_temperature_celsius=(reading.temperature_celsius or 0) + MEMORY_WARMER_CELSIUS,
        slowdown_temperature_celsius=SLOWDOWN_CELSIUS,
        graphics_clock_megahertz=reading.sm_clock_megahertz,
        memory_clock_megahertz=round(MEMORY_CLOCK_FRACTION * board.maximum_megahertz),
        video_clock_megahertz=reading.sm_clock_megahertz,
        sm_clock_limit_megahertz=board.maximum_megahertz,
        clock_limits=("idle",) if not is_busy else ("power-cap",) if is_capped else (),
        performance_state=0 if is_busy else 8,
        ecc_corrected_errors=0,
        ecc_uncorrected_errors=0,
        ecc_corrected_errors_ever=0,
        ecc_uncorrected_errors_ever=0,
        remapped_rows_corrected=0,
        remapped_rows_uncorrected=0,
        is_row_remap_pending=False,
        has_row_remap_failed=False,
        pcie_generation=4,
        pcie_lanes=PCIE_LANES,
        pcie_replays=0,
        recovery_action=recovery_action,
    )
