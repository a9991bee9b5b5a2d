"""Changes of GPUs through NVML (node-agent.md 5.5): partitions and modes.

Each takes back what it has half done before it raises; what it cannot take back it notes, and
`instances` shows it to whoever looks next.
"""

import ctypes
from typing import Any, Final

import pynvml

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import BusyError, DevicesError, UnsupportedError
from nodeagent.devices.mig import MigProfile
from nodeagent.devices.nvml.calls import Note, changing
from nodeagent.devices.nvml.names import COMPUTE_PROFILES
from nodeagent.devices.nvml.partitions import compute_instances

SHARED_ENGINES: Final = 0


def create_partition(handle: object, profile: MigProfile, start: int, *, note: Note) -> Instance:
    """Create a GPU instance at a place and a compute instance over the whole of it.

    Raises:
        DevicesError: as `GpuControl.create_partition`.

    """
    place = pynvml.c_nvmlGpuInstancePlacement_t(start, profile.memory_slices)
    gpu_instance = changing(
        f"create {profile.name} at slice {start}",
        lambda: pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(
            handle, profile.id, ctypes.byref(place)
        ),
    )
    try:
        info = changing("look at it", lambda: pynvml.nvmlGpuInstanceGetInfo(gpu_instance))
        compute = changing(
            f"create the compute instance of {profile.name}",
            lambda: _create_compute_instance(gpu_instance, profile),
        )
        told = changing("look at it", lambda: pynvml.nvmlComputeInstanceGetInfo_v2(compute))
        uuid = changing("ask for its uuid", lambda: pynvml.nvmlDeviceGetUUID(told.device))
    except DevicesError:
        _take_back(gpu_instance, note=note)
        raise
    return Instance(
        uuid=uuid,
        gpu_instance_id=info.id,
        compute_instance_id=told.id,
        profile_id=profile.id,
        start=start,
    )


def destroy_partition(handle: object, instance: Instance) -> None:
    """Destroy an instance if it is still the same one; its compute instances go first.

    Raises:
        DevicesError: as `GpuControl.destroy_partition`.

    """
    gpu_instance = changing(f"find {instance.uuid}", lambda: _find_again(handle, instance))
    if gpu_instance is not None:
        changing(f"destroy {instance.uuid}", lambda: _destroy(gpu_instance))


def set_mig_mode(handle: object, *, enabled: bool, switches_without_reset: bool) -> None:
    """Switch MIG mode at once or not at all.

    Raises:
        DevicesError: as `GpuControl.set_mig_mode`.

    """
    current, pending = changing("ask for mig mode", lambda: pynvml.nvmlDeviceGetMigMode(handle))
    if bool(current) == enabled and current == pending:
        return
    if not switches_without_reset and bool(current) != enabled:
        raise UnsupportedError("this GPU switches MIG mode only by a reset")
    activation = changing(
        "switch mig mode", lambda: pynvml.nvmlDeviceSetMigMode(handle, int(enabled))
    )
    if activation == pynvml.NVML_SUCCESS:
        return
    # Left pending, the switch would happen at some later reset, when nobody expects it.
    changing("take back mig mode", lambda: pynvml.nvmlDeviceSetMigMode(handle, current))
    reason = f"MIG mode did not switch: {pynvml.nvmlErrorString(activation)}"
    if activation == pynvml.NVML_ERROR_IN_USE:
        raise BusyError(reason)
    raise UnsupportedError(reason)


def set_compute_mode(handle: object, *, exclusive: bool) -> None:
    """Let one process alone open the GPU, or any number.

    Raises:
        DevicesError: as `GpuControl.set_compute_mode`.

    """
    mode = (
        pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS if exclusive else pynvml.NVML_COMPUTEMODE_DEFAULT
    )
    changing("set compute mode", lambda: pynvml.nvmlDeviceSetComputeMode(handle, mode))


def _create_compute_instance(gpu_instance: object, profile: MigProfile) -> object:
    info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
        gpu_instance, COMPUTE_PROFILES[_slices(profile)], SHARED_ENGINES
    )
    compute: object = pynvml.nvmlGpuInstanceCreateComputeInstance(gpu_instance, info.id)
    return compute


def _slices(profile: MigProfile) -> int:
    """Return the compute slices of a profile: the number that its name begins with."""
    return int(profile.name.partition("g")[0])


def _destroy(gpu_instance: object) -> None:
    for compute in compute_instances(gpu_instance):
        _unless_gone(pynvml.nvmlComputeInstanceDestroy, compute)
    _unless_gone(pynvml.nvmlGpuInstanceDestroy, gpu_instance)


def _unless_gone(destroy: Any, what: object) -> None:  # noqa: ANN401 - pynvml is untyped
    try:
        destroy(what)
    except pynvml.NVMLError as error:
        if error.value != pynvml.NVML_ERROR_NOT_FOUND:
            raise


def _take_back(gpu_instance: object, *, note: Note) -> None:
    try:
        _destroy(gpu_instance)
    except pynvml.NVMLError as error:
        note("error", "half a partition is left over", reason=str(error))


def _find_again(handle: object, instance: Instance) -> object | None:
    try:
        gpu_instance: object = pynvml.nvmlDeviceGetGpuInstanceById(handle, instance.gpu_instance_id)
        info = pynvml.nvmlGpuInstanceGetInfo(gpu_instance)
    except pynvml.NVMLError as error:
        if error.value in {pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_NOT_SUPPORTED}:
            return None
        raise
    is_same = (info.profileId, info.placement.start) == (instance.profile_id, instance.start)
    return gpu_instance if is_same else None
