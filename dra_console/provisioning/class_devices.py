"""Which published devices a class selects, and what they have: the ground the form stands on.

The evaluator is the allocator's own, so the form and the allocation cannot disagree.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from dra_console.allocator.cel.selectors import Program, default_engine
from dra_console.allocator.decoding.decode import decode_class
from dra_console.allocator.errors import DecodeError
from dra_console.mirror.models import Cluster, DeviceClass
from dra_console.provisioning.published import PublishedDevice, published_devices


class ClassDevices:
    """The devices of each class of a cluster, worked out as they are asked for."""

    def __init__(
        self,
        devices: tuple[PublishedDevice, ...],
        selectors_by_class: Mapping[str, tuple[str | None, ...]],
    ) -> None:
        """Take all published devices, and the selectors of each class by its name."""
        self._published = devices
        self._selectors_by_class = selectors_by_class
        self._selected: dict[str, tuple[PublishedDevice, ...]] = {}

    @classmethod
    def read(cls, cluster: Cluster) -> "ClassDevices":
        """Read devices and classes of a cluster; takes three or four queries.

        While neither changes, the answer is the very same, with what was worked out before.
        """
        devices, selectors = published_devices(cluster), _selectors_by_class(cluster)
        known = _kept.get(cluster.pk)
        if known is None or not known._is_of(devices, selectors):  # noqa: SLF001 - of its own class
            known = _kept[cluster.pk] = cls(devices, selectors)
        return known

    def _is_of(
        self,
        devices: tuple[PublishedDevice, ...],
        selectors_by_class: Mapping[str, tuple[str | None, ...]],
    ) -> bool:
        return self._published is devices and self._selectors_by_class == selectors_by_class

    @property
    def class_names(self) -> AbstractSet[str]:
        """Name the classes that exist and can be read."""
        return self._selectors_by_class.keys()

    def devices(self, class_name: str) -> tuple[PublishedDevice, ...]:
        """Give the devices on which every selector of the class is true.

        A selector that is no CEL, or fails on a device, selects nothing there, as it
        allocates nothing there.
        """
        if class_name not in self._selected:
            programs = [
                None if expression is None else default_engine().compile(expression)
                for expression in self._selectors_by_class[class_name]
            ]
            self._selected[class_name] = tuple(
                device for device in self._published if _matches(device, programs)
            )
        return self._selected[class_name]

    def count(self, class_name: str) -> int:
        """Count the devices of a class."""
        return len(self.devices(class_name))

    def names(self, class_name: str, *, group: str) -> AbstractSet[str]:
        """Name what devices of the class have among `attributes` or `capacity`: `domain/name`."""
        return {
            f"{domain}/{name}"
            for device in self.devices(class_name)
            for domain, values in (
                device.facts.capacity if group == "capacity" else device.facts.attributes
            ).items()
            for name in values
        }


def _matches(device: PublishedDevice, programs: Iterable[object]) -> bool:
    return all(
        isinstance(program, Program) and program.evaluate(device.facts) is True
        for program in programs
    )


def _selectors_by_class(cluster: Cluster) -> dict[str, tuple[str | None, ...]]:
    selectors = {}
    for row in DeviceClass.objects.filter(cluster=cluster):
        try:
            selectors[row.name] = decode_class(row.raw).selectors
        except DecodeError:
            continue
    return selectors


_kept: Final[dict[int, ClassDevices]] = {}
"""By cluster."""
