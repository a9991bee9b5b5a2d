"""A change in the mirror starts a scheduling run, and a look for conflicts."""

from django.dispatch import receiver

from dra_console.events import claims_changed, inventory_changed
from dra_console.scheduling.coexistence.tasks import request_look
from dra_console.scheduling.tasks import request_run


@receiver([claims_changed, inventory_changed])
def run_on_change(cluster_id: int, **_signal: object) -> None:
    """Queue a run; many changes at once become one."""
    request_run(cluster_id)


@receiver([claims_changed, inventory_changed])
def look_on_change(cluster_id: int, **_signal: object) -> None:
    """Queue a look for conflicts likewise."""
    request_look(cluster_id)
