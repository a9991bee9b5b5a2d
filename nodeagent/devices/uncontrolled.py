"""A driver through which nothing can be changed: whole GPUs only, as they are."""

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import UnsupportedError


class Uncontrolled:
    """Implements `GpuControl` by refusing."""

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        raise UnsupportedError(f"{gpu_uuid}: no partition {profile_id} at {start} can be made")

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        raise UnsupportedError(f"{gpu_uuid}: partition {instance.uuid} cannot be destroyed")

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        raise UnsupportedError(f"{gpu_uuid}: partitions cannot be listed")

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: ARG002, FBT001 - as in GpuControl
        raise UnsupportedError(f"{gpu_uuid}: MIG mode cannot be set")

    def set_time_slice(self, gpu_uuid: str, interval: int) -> None:  # noqa: ARG002 - as in GpuControl
        raise UnsupportedError(f"{gpu_uuid}: the time slice cannot be set")

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: ARG002, FBT001 - as in GpuControl
        raise UnsupportedError(f"{gpu_uuid}: the compute mode cannot be set")
