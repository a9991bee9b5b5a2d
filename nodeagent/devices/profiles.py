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
from nodeagent.devices.mig_tables import A100_40GB_PROFILES, H100_80GB_PROFILES
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
    mig_profiles=H100_80GB_PROFILES,
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
    mig_profiles=A100_40GB_PROFILES,
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


def gpus(profile: str, *, node_name: str, is_dynamic: bool = False) -> tuple[Gpu, ...]:
    """Return the GPUs of a node of that profile; `gpu-<n>` is the n-th socket.

    Boards that are in MIG mode have their partitions made for claims; with `is_dynamic` those
    that could be in it do, too.
    """
    return tuple(
        _gpu(socket, minor=minor, node_name=node_name, is_dynamic=is_dynamic)
        for minor, socket in enumerate(PROFILES[profile])
    )


def _gpu(socket: Socket, *, minor: int, node_name: str, is_dynamic: bool) -> Gpu:
    board = socket.board
    toggles_mig = is_dynamic and bool(board.mig_profiles) and board.mig_mode is MigMode.DISABLED
    is_cut = toggles_mig or board.mig_mode is MigMode.ENABLED
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
        is_dynamic=is_cut,
        toggles_mig=toggles_mig,
        partitions=tuple(
            Partition(mig, start, _stable_uuid("MIG", f"{own_uuid}/{mig.id}/{start}"))
            for mig, start in places(board.mig_profiles if is_cut else ())
        ),
    )


def _stable_uuid(prefix: str, name: str) -> str:
    return f"{prefix}-{uuid.uuid5(uuid.NAMESPACE_DNS, name)}"
