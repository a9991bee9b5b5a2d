"""A change in the mirror wakes the allocation window, and starts a look for conflicts."""

from collections.abc import Sequence

from django.dispatch import receiver

from dra_console.events import claims_changed, inventory_changed
from dra_console.scheduling.allocating.wakes import Wake
from dra_console.scheduling.coexistence.tasks import request_look
from dra_console.scheduling.tasks import wake


@receiver([claims_changed, inventory_changed])
def wake_on_change(
    cluster_id: int, plural: str = "", keys: Sequence[str] | None = None, **_signal: object
) -> None:
    """Tell the window what has changed, or open one."""
    wake(cluster_id, Wake(plural, None if keys is None else tuple(keys)))


@receiver([claims_changed, inventory_changed])
def look_on_change(cluster_id: int, **_signal: object) -> None:
    """Queue a look for conflicts likewise."""
    request_look(cluster_id)
