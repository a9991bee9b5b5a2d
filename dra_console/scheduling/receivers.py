"""A change in the mirror wakes the allocation window, and starts a look for conflicts."""

from collections.abc import Sequence

from django.dispatch import receiver

from dra_console.events import claims_changed, inventory_changed, room_changed
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.wakes import ROOM, Wake
from dra_console.scheduling.coexistence.tasks import request_look
from dra_console.scheduling.tasks import wake


@receiver([claims_changed, inventory_changed])
def wake_on_change(
    cluster_id: int, plural: str = "", keys: Sequence[str] | None = None, **_signal: object
) -> None:
    """Tell the window what has changed, or open one."""
    wake(cluster_id, Wake(plural, None if keys is None else tuple(keys)))


@receiver(room_changed)
def tell_of_room(cluster_id: int, node_names: Sequence[str] | None, **_signal: object) -> None:
    """Tell the window, if one is open; those who wait for room are looked at by the next sweep."""
    wakes.push(cluster_id, Wake(ROOM, None if node_names is None else tuple(node_names)))


@receiver([claims_changed, inventory_changed])
def look_on_change(cluster_id: int, **_signal: object) -> None:
    """Queue a look for conflicts likewise."""
    request_look(cluster_id)
