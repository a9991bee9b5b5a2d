"""A mirror with H100s, an A100 cut in partitions and L4s, behind three classes."""

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Cluster
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    DRIVER,
    a_class,
    a_device,
    a_node,
    a_result,
    a_slice,
    an_allocated_claim,
)

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
TYPE_OF_CLASS = {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig"}


def a_gpu(name: str, *, product: str, memory: str, root: str = "pci0000:15") -> JsonObject:
    attributes: dict[str, Json] = {"type": "gpu", "productName": product, PCIE_ROOT: root}
    return a_device(name, memory=memory, attributes=attributes)


def a_partition(name: str, *, profile: str, memory: str) -> JsonObject:
    attributes: dict[str, Json] = {"type": "mig", "productName": "A100", "profile": profile}
    return a_device(name, memory=memory, attributes=attributes)


@pytest.fixture
def cluster(db: None) -> Cluster:
    del db
    row = Cluster.objects.create(name="demo")
    mirror(
        row,
        *(a_node(name) for name in ("gpu-01", "mig-01", "l4-01")),
        a_slice(
            node="gpu-01",
            devices=[a_gpu(f"gpu-{n}", product="H100", memory="80Gi") for n in range(4)],
        ),
        a_slice(
            node="mig-01",
            devices=[
                a_partition("mig-0", profile="3g.20gb", memory="20Gi"),
                a_partition("mig-1", profile="1g.5gb", memory="5Gi"),
                a_partition("mig-2", profile="1g.5gb", memory="5Gi"),
            ],
        ),
        a_slice(
            node="l4-01",
            devices=[a_gpu(f"gpu-{n}", product="L4", memory="24Gi") for n in range(2)],
        ),
        *(
            a_class(
                name,
                selectors=[f'device.attributes["{DRIVER}"].type == "{kind}"'],
            )
            for name, kind in TYPE_OF_CLASS.items()
        ),
        a_class("l4.nvidia.com", selectors=[f'device.attributes["{DRIVER}"].productName == "L4"']),
        an_allocated_claim("held", results=[a_result("gpu-0")]),
    )
    return row
