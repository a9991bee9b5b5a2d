"""Whether a claim that the checkpoint still holds has been given up by everybody else.

A device is taken back only when nothing speaks for the claim: the API server says that it is
gone, or allocated none of these devices any more, says so again later, and no process uses the
device. Any doubt keeps the claim: an unreadable API, a reading that is not there (node-agent.md
2.9).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.devices.model import Inventory, Reading
from nodeagent.fields import FieldError, Fields, JsonObject
from nodeagent.kube.errors import KubeError, NotFoundError, NotServedError
from nodeagent.kube.resources import Listed

SECOND_LOOK_AFTER: Final = timedelta(seconds=30)


class ClaimLister(Protocol):
    """Reads claims by name, and all of them where the name is not known."""

    def claim(self, namespace: str, name: str) -> JsonObject:
        """Return a ResourceClaim."""
        ...

    def claims(self) -> Listed:
        """Return all ResourceClaims."""
        ...


@dataclass(slots=True)
class Abandonment:
    """Remembers which claims were found gone before."""

    reader: ClaimLister
    readings: Callable[[], Mapping[str, Reading]]
    """The latest readings by device name."""

    inventory: Callable[[], Inventory | None]
    """The node's devices as last discovered; `None` before that."""

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    _first_gone: dict[str, datetime] = field(default_factory=dict, init=False)

    def is_abandoned(self, entry: Entry) -> bool:
        """Look once; for a completed claim, tell of it only at a second look."""
        if not self._is_gone(entry):
            self._first_gone.pop(entry.uid, None)
            return False
        if entry.state is not State.COMPLETED:
            return True
        if not self._is_unused(entry):
            return False
        now = self.now()
        return now - self._first_gone.setdefault(entry.uid, now) >= SECOND_LOOK_AFTER

    def forget(self, claim_uid: str) -> None:
        """Drop what was remembered of a claim that is undone."""
        self._first_gone.pop(claim_uid, None)

    def _is_gone(self, entry: Entry) -> bool:
        try:
            if entry.name:
                claims: Iterable[JsonObject] = [self.reader.claim(entry.namespace, entry.name)]
            else:
                claims = self.reader.claims().items
            return not any(_speaks_for(claim, entry) for claim in claims)
        except NotServedError:
            return False
        except NotFoundError:
            return True
        except (KubeError, FieldError):
            return False

    def _is_unused(self, entry: Entry) -> bool:
        # Whoever only watches over a device has no processes on it to protect.
        held = (device for device in entry.devices if not device.admin_access)
        return all(self._has_no_process(device) for device in held)

    def _has_no_process(self, device: PlannedDevice) -> bool:
        reading = self.readings().get(device.device)
        count = reading.process_count if reading is not None else None
        if count is None:
            # The driver itself refuses to destroy a partition in use.
            return device.makes_partition or self._has_left(device)
        return count == 0

    def _has_left(self, device: PlannedDevice) -> bool:
        """Tell whether the node's devices are known, and the device is none of them any more."""
        inventory = self.inventory()
        if inventory is None or not inventory.devices:
            return False
        return all(one.gpu.uuid != device.parent_uuid for one in inventory.devices)


def _speaks_for(claim: JsonObject, entry: Entry) -> bool:
    """Tell whether a claim of the API server is the entry's and has any of its devices.

    Raises:
        FieldError: it is of a form that this agent does not know.

    """
    fields = Fields(claim, "")
    if fields.object("metadata").text("uid") != entry.uid:
        return False
    status = fields.optional_object("status") or Fields({}, "status")
    allocation = status.optional_object("allocation")
    devices = allocation.optional_object("devices") if allocation else None
    results = devices.objects("results") if devices else ()
    allocated = {(result.text("pool"), result.text("device")) for result in results}
    # Of an entry that cannot be read, the claim's existence says enough.
    held = {(device.pool, device.device) for device in entry.devices} or allocated
    return not held.isdisjoint(allocated)
