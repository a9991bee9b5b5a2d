"""The simulated nodes: boards with the facts of real ones, under UUIDs of their own.

Product names, memory sizes, PCI layouts and MIG profiles are those that the real boards report
(NVIDIA's product and MIG documentation, node-agent.md 5.4). UUIDs derive from the node's name,
so two simulated nodes never share one, and a restart finds the same GPUs again.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from nodeagent.devices.mig import MigProfile, Partition, places
from nodeagent.devices.model import Gpu, MigMode

MEBIBYTE: Final = 1 << 20
DRIVER_VERSION: Final = "580.95.05"
CUDA_DRIVER_VERSION: Final = "13.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """What all boards of one product have in common."""

    product_name: str
    brand: str
    architecture: str
    compute_capability: str
    memory_mebibytes: int
    mig_mode: MigMode
    idle_milliwatts: int
    maximum_milliwatts: int
    idle_megahertz: int
    maximum_megahertz: int
    mig_profiles: tuple[MigProfile, ...] = ()


@dataclass(frozen=True, slots=True)
class Socket:
    """Where one board sits: PCI address, the PCI root above it, and the NUMA node beside that."""

    board: Board
    pci_bus_id: str
    pcie_root: str
    numa_node: int


def _a100_40gb_profiles() -> tuple[MigProfile, ...]:
    """Return the table of `nvidia-smi mig -lgip` and `-lgipp` on an A100 40 GB."""
    table = (
        # id, name, SMs, copy engines, decoders, JPEG, OFA, MiB, memory slices, starts
        (19, "1g.5gb", 14, 1, 0, 0, 0, 4864, 1, tuple(range(7))),
        (20, "1g.5gb+me", 14, 1, 1, 1, 1, 4864, 1, tuple(range(7))),
        (15, "1g.10gb", 14, 1, 1, 0, 0, 9856, 2, (0, 2, 4, 6)),
        (14, "2g.10gb", 28, 2, 1, 0, 0, 9856, 2, (0, 2, 4)),
        (9, "3g.20gb", 42, 3, 2, 0, 0, 19968, 4, (0, 4)),
        (5, "4g.20gb", 56, 4, 2, 0, 0, 19968, 4, (0,)),
        (0, "7g.40gb", 98, 7, 5, 1, 1, 40192, 8, (0,)),
    )
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
        ) in table
    )


H100_80GB: Final = Board(
    product_name="NVIDIA H100 80GB HBM3",
    brand="Nvidia",
    architecture="Hopper",
    compute_capability="9.0",
    memory_mebibytes=81559,
    mig_mode=MigMode.DISABLED,
    idle_milliwatts=70_000,
    maximum_milliwatts=700_000,
    idle_megahertz=345,
    maximum_megahertz=1980,
)
A100_40GB: Final = Board(
    product_name="NVIDIA A100-SXM4-40GB",
    brand="Nvidia",
    architecture="Ampere",
    compute_capability="8.0",
    memory_mebibytes=40960,
    mig_mode=MigMode.ENABLED,
    idle_milliwatts=52_000,
    maximum_milliwatts=400_000,
    idle_megahertz=210,
    maximum_megahertz=1410,
    mig_profiles=_a100_40gb_profiles(),
)
L4: Final = Board(
    product_name="NVIDIA L4",
    brand="Nvidia",
    architecture="Ada Lovelace",
    compute_capability="8.9",
    memory_mebibytes=23034,
    mig_mode=MigMode.UNSUPPORTED,
    idle_milliwatts=16_000,
    maximum_milliwatts=72_000,
    idle_megahertz=210,
    maximum_megahertz=2040,
)
T4: Final = Board(
    product_name="Tesla T4",
    brand="Tesla",
    architecture="Turing",
    compute_capability="7.5",
    memory_mebibytes=15360,
    mig_mode=MigMode.UNSUPPORTED,
    idle_milliwatts=9_000,
    maximum_milliwatts=70_000,
    idle_megahertz=300,
    maximum_megahertz=1590,
)

_L4_SOCKETS: Final = (
    Socket(L4, "0000:31:00.0", "pci0000:30", 0),
    Socket(L4, "0000:35:00.0", "pci0000:30", 0),
    Socket(L4, "0000:b1:00.0", "pci0000:b0", 1),
    Socket(L4, "0000:b5:00.0", "pci0000:b0", 1),
)

PROFILES: Final[Mapping[str, tuple[Socket, ...]]] = MappingProxyType(
    {
        "h100x8": (
            Socket(H100_80GB, "0000:18:00.0", "pci0000:15", 0),
            Socket(H100_80GB, "0000:1b:00.0", "pci0000:15", 0),
            Socket(H100_80GB, "0000:43:00.0", "pci0000:40", 0),
            Socket(H100_80GB, "0000:46:00.0", "pci0000:40", 0),
            Socket(H100_80GB, "0000:9d:00.0", "pci0000:9a", 1),
            Socket(H100_80GB, "0000:a0:00.0", "pci0000:9a", 1),
            Socket(H100_80GB, "0000:c3:00.0", "pci0000:c0", 1),
            Socket(H100_80GB, "0000:c6:00.0", "pci0000:c0", 1),
        ),
        "a100x2-mig": (
            Socket(A100_40GB, "0000:07:00.0", "pci0000:00", 0),
            Socket(A100_40GB, "0000:87:00.0", "pci0000:80", 1),
        ),
        "l4x4": _L4_SOCKETS,
        "l4x4-t4x1": (*_L4_SOCKETS, Socket(T4, "0000:d8:00.0", "pci0000:d7", 1)),
    }
)


def gpus(profile: str, *, node_name: str) -> tuple[Gpu, ...]:
    """Return the GPUs of a node of that profile; `gpu-<n>` is the n-th socket."""
    return tuple(
        _gpu(socket, minor=minor, node_name=node_name)
        for minor, socket in enumerate(PROFILES[profile])
    )


def _gpu(socket: Socket, *, minor: int, node_name: str) -> Gpu:
    board = socket.board
    own_uuid = _stable_uuid("GPU", f"{node_name}/gpu-{minor}")
    return Gpu(
        minor=minor,
        uuid=own_uuid,
        memory_bytes=board.memory_mebibytes * MEBIBYTE,
        product_name=board.product_name,
        brand=board.brand,
        architecture=board.architecture,
        compute_capability=board.compute_capability,
        driver_version=DRIVER_VERSION,
        cuda_driver_version=CUDA_DRIVER_VERSION,
        pci_bus_id=socket.pci_bus_id,
        pcie_root=socket.pcie_root,
        numa_node=socket.numa_node,
        ecc_mode="enabled",
        mig_mode=board.mig_mode,
        partitions=tuple(
            Partition(mig, start, _stable_uuid("MIG", f"{own_uuid}/{mig.id}/{start}"))
            for mig, start in places(board.mig_profiles)
        ),
    )


def _stable_uuid(prefix: str, name: str) -> str:
    return f"{prefix}-{uuid.uuid5(uuid.NAMESPACE_DNS, name)}"
