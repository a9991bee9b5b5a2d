"""Taints of devices: what keeps claims away from a device that is not well (KEP-5055).

Whoever judges devices makes them, the publisher writes them into ResourceSlices. They carry no
time: the API server notes when it first saw one (`timeAdded`), so that two agents which judge
alike want the same slices.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)
DOMAIN: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII
)
DOMAIN_CHARACTERS: Final = 253


class Effect(StrEnum):
    """What a taint does to claims that do not tolerate it; the words are the API's."""

    NONE = "None"
    """Nothing: it informs."""

    NO_SCHEDULE = "NoSchedule"
    """The device is not allocated any more."""

    NO_EXECUTE = "NoExecute"
    """As `NO_SCHEDULE`, and pods that use the device are evicted."""


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """One taint of one device. A device has at most one of each key and effect."""

    key: str
    """A label's key, as in `gpu.nvidia.com/xid`."""

    value: str
    """A label's value, as in `79`; empty for none."""

    effect: Effect

    def __post_init__(self) -> None:
        """Refuse what the API server would refuse together with all devices of the slice.

        Raises:
            ValueError: key or value has not the syntax of a label.

        """
        domain, slash, name = self.key.rpartition("/")
        is_domain = DOMAIN.fullmatch(domain) is not None and len(domain) <= DOMAIN_CHARACTERS
        if not LABEL.fullmatch(name) or (slash and not is_domain):
            raise ValueError(f"taint: expected a label's key, got {self.key!r}")
        if self.value and not LABEL.fullmatch(self.value):
            raise ValueError(f"taint {self.key}: expected a label's value, got {self.value!r}")

    @property
    def keeps_away(self) -> bool:
        """Whether claims that do not tolerate it are kept from the device."""
        return self.effect is not Effect.NONE
