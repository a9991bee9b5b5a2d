"""MIG of one GPU: what can be made of it, and what is there (node-agent.md 5.4).

Two numberings meet here: profile information is asked for by the enumeration's index, while
places, creation and instances go by the profile's id.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pynvml

from nodeagent.devices.control import Instance
from nodeagent.devices.mig import BYTES_PER_MEBIBYTE, MigProfile, Partition, places
from nodeagent.devices.model import Gpu
from nodeagent.devices.nvml.calls import Calls, refuse_without_driver
from nodeagent.devices.nvml.names import MIG_PROFILES, mig_profile_name

WITHOUT_COMPUTE: Final = -1
COMPUTE_INSTANCES: Final = 8
GPU_INSTANCES: Final = 8
"""What one GPU can have at most."""

EMPTY_SLOT: Final = frozenset({pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT})
DRIVERS_PREFIX: Final = "MIG "


@dataclass(frozen=True, slots=True)
class Found:
    """An instance that exists, and whether its compute instance covers the whole of it."""

    instance: Instance
    is_whole: bool
    memory_slices: int


def profiles_of(gpu: Gpu, handle: object, *, calls: Calls) -> tuple[MigProfile, ...]:
    """List the GPU instance profiles with their places; none where MIG is not offered.

    Raises:
        pynvml.NVMLError: they cannot be listed now.
        DevicesError: as `Calls.offered`.

    """
    found = []
    for index in MIG_PROFILES:
        info = _profile_info(gpu, handle, index, calls=calls)
        if info is None:
            continue
        where = calls.offered(gpu.uuid, f"places {index}", partial(_places, handle, info.id))
        if where:
            found.append(_profile(gpu, index, info, where))
    # Two indices can name one profile; it is offered once.
    return tuple({profile.id: profile for profile in reversed(found)}.values())[::-1]


def everywhere(
    profiles: tuple[MigProfile, ...], existing: tuple[Found, ...]
) -> tuple[Partition, ...]:
    """Return every place, with the instance that is there now."""
    there = {(one.instance.profile_id, one.instance.start): one.instance for one in existing}
    return tuple(
        Partition(
            profile,
            start,
            found.uuid or None if (found := there.get((profile.id, start))) else None,
            found,
        )
        for profile, start in places(profiles)
    )


def existing_only(
    profiles: tuple[MigProfile, ...], existing: tuple[Found, ...]
) -> tuple[Partition, ...]:
    """Return the partitions that exist and can be handed out whole, in the order of `places`."""
    return tuple(
        partition
        for partition in everywhere(profiles, tuple(one for one in existing if one.is_whole))
        if partition.instance is not None
    )


def instances_of(
    gpu: Gpu, handle: object, profiles: tuple[MigProfile, ...], *, calls: Calls
) -> tuple[Found, ...]:
    """List the GPU instances that exist, each with its first compute instance.

    Raises:
        pynvml.NVMLError: they cannot be listed.
        DevicesError: as `Calls.offered`.

    """
    return tuple(
        _found(gpu_instance, calls=calls, gpu=gpu, slices=profile.memory_slices)
        for profile in profiles
        for gpu_instance in _gpu_instances(handle, profile.id)
    )


def _gpu_instances(handle: object, profile_id: int) -> Iterator[object]:
    room = (pynvml.c_nvmlGpuInstance_t * GPU_INSTANCES)()
    count = ctypes.c_uint(GPU_INSTANCES)
    try:
        pynvml.nvmlDeviceGetGpuInstances(handle, profile_id, room, ctypes.byref(count))
    except pynvml.NVMLError as error:
        # The driver may not know a profile of the list, or MIG mode may be off.
        if error.value in {pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT}:
            return
        raise
    yield from (room[index] for index in range(count.value))


def mig_devices(uuid: str, handle: object, *, calls: Calls) -> dict[str, Any]:
    """Return the handles of a GPU's MIG devices by UUID; empty slots have none.

    Raises:
        pynvml.NVMLError: they cannot be listed now.
        DevicesError: as `Calls.offered`.

    """
    count = calls.offered(
        uuid, "most mig devices", partial(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    )
    found = {}
    for index in range(count or 0):
        try:
            device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            found[pynvml.nvmlDeviceGetUUID(device)] = device
        except pynvml.NVMLError as error:
            if error.value not in EMPTY_SLOT:
                refuse_without_driver(error)
                raise
    return found


def compute_instances(gpu_instance: object) -> Iterator[object]:
    """Yield the handles of a GPU instance's compute instances."""
    for number in range(COMPUTE_INSTANCES):
        try:
            yield pynvml.nvmlGpuInstanceGetComputeInstanceById(gpu_instance, number)
        except pynvml.NVMLError as error:
            if error.value != pynvml.NVML_ERROR_NOT_FOUND:
                raise


def _found(gpu_instance: object, *, calls: Calls, gpu: Gpu, slices: int) -> Found:
    info = pynvml.nvmlGpuInstanceGetInfo(gpu_instance)
    computes = [
        pynvml.nvmlComputeInstanceGetInfo_v2(compute) for compute in compute_instances(gpu_instance)
    ]
    first = computes[0] if computes else None
    attributes = first and calls.offered(
        gpu.uuid, "attributes", lambda: pynvml.nvmlDeviceGetAttributes_v2(first.device)
    )
    is_whole = len(computes) == 1 and (
        attributes is None
        or attributes.computeInstanceSliceCount == attributes.gpuInstanceSliceCount
    )
    return Found(
        Instance(
            uuid=pynvml.nvmlDeviceGetUUID(first.device) if first else "",
            gpu_instance_id=info.id,
            compute_instance_id=first.id if first else WITHOUT_COMPUTE,
            profile_id=info.profileId,
            start=info.placement.start,
        ),
        is_whole,
        slices,
    )


def _profile_info(gpu: Gpu, handle: object, index: int, *, calls: Calls) -> Any:  # noqa: ANN401 - pynvml is untyped
    newer = calls.offered(
        gpu.uuid,
        f"profile {index}",
        lambda: pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index, version=2),
    )
    if newer is not None:
        return newer
    # Drivers before 470 have the older call alone; both refuse a profile that is not there.
    return calls.offered(
        gpu.uuid,
        f"profile {index} v1",
        lambda: pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index, version=1),
    )


def _places(handle: object, profile_id: int) -> tuple[tuple[int, int], ...]:
    count = ctypes.c_uint(0)
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, None, ctypes.byref(count))
    room = (pynvml.c_nvmlGpuInstancePlacement_t * count.value)()
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, room, ctypes.byref(count))
    return tuple(sorted((place.start, place.size) for place in room[: count.value]))


def _profile(
    gpu: Gpu,
    index: int,
    info: Any,  # noqa: ANN401 - pynvml is untyped
    where: tuple[tuple[int, int], ...],
) -> MigProfile:
    told = getattr(info, "name", b"")
    name = (told.decode() if isinstance(told, bytes) else told).removeprefix(DRIVERS_PREFIX)
    profile_bytes = info.memorySizeMB * BYTES_PER_MEBIBYTE
    return MigProfile(
        id=info.id,
        name=name
        or mig_profile_name(index, profile_bytes=profile_bytes, gpu_bytes=gpu.memory_bytes),
        multiprocessors=info.multiprocessorCount,
        copy_engines=info.copyEngineCount,
        decoders=info.decoderCount,
        encoders=info.encoderCount,
        jpeg_engines=info.jpegCount,
        ofa_engines=info.ofaCount,
        memory_mebibytes=info.memorySizeMB,
        memory_slices=where[0][1],
        starts=tuple(start for start, _ in where),
    )
