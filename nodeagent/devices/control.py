"""What changes hardware: partitions, MIG mode, time slices, compute mode.

Two things implement `GpuControl`, the NVML worker's proxy and the simulation, and both keep to the
same rules (node-agent.md 5.5): partitions never overlap, nothing that a process uses goes away,
and a GPU leaves MIG mode only without partitions. Each call is one step that its caller can take
back by another; whoever calls writes its plan down before, because a call that ran out of time
may still take effect.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A partition that exists: a GPU instance with one compute instance over the whole of it."""

    uuid: str
    """`MIG-...`, the identity that a container sees."""

    gpu_instance_id: int
    compute_instance_id: int
    profile_id: int
    """NVML's GPU instance profile id (19, 14, 9, ...)."""

    start: int
    """The first memory slice that it occupies."""


class GpuControl(Protocol):
    """One way to change GPUs. Safe to call from any thread; calls run one after the other.

    Every method can raise, beside what it names itself:
        NoDriverError: there is no usable driver now, or the node has no such GPU.
        DriverTimeoutError: no answer in time; it may still happen.
        UnsupportedError: this GPU cannot do it.
    """

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        """Create a GPU instance at a place, and a compute instance over the whole of it.

        If the second step fails, the first one is taken back before the error is raised.

        Raises:
            PlacementTakenError: it would overlap another partition, or too little is left.
            UnsupportedError: no such profile or place, or MIG mode is off.

        """
        ...

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        """Destroy an instance, its compute instances first; one that is gone is a success.

        Another instance that has meanwhile taken its id is left alone.

        Raises:
            BusyError: a process uses it.

        """
        ...

    def instances(self, gpu_uuid: str) -> tuple[Instance, ...]:
        """List the partitions that exist, whoever made them; none where MIG mode is off.

        A GPU instance without a compute instance is listed, too, so that it can be destroyed:
        its UUID is empty and its `compute_instance_id` -1.
        """
        ...

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: FBT001 - a mode, set
        """Switch MIG mode now; a GPU that is in the mode already stays as it is.

        Raises:
            BusyError: a process uses the GPU, or it still has partitions.
            UnsupportedError: no MIG, or only a reset of the GPU would switch it (Ampere).

        """
        ...

    def set_time_slice(self, gpu_uuid: str, interval: int) -> None:
        """Set how long a process computes before the next one: 0 default, 1 short .. 3 long."""
        ...

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: FBT001 - a mode, set
        """Let one process alone open the GPU (MPS wants that), or any number again."""
        ...
