"""List everything once, without a worker."""

from django.core.management.base import BaseCommand, CommandError

from dra_console.kube.errors import ApiError
from dra_console.leases import lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.sync.cursors import make_cursors
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.follow import list_all
from dra_console.sync.mirrored import MIRRORED, Mirrored
from dra_console.sync.tasks import LEASE_SECONDS, WINDOW_SECONDS, lease_name
from dra_console.sync.window import Window


class Command(BaseCommand):
    """Bring the mirror of each enabled cluster in line with full lists."""

    help = "List every kind of every enabled cluster once and mirror it."

    def handle(self, *_: object, **__: object) -> None:
        failed = [
            f"{cluster.name} {plural}"
            for cluster in Cluster.objects.filter(enabled=True)
            for plural, mirrored in MIRRORED.items()
            if not self._list(cluster, mirrored)
        ]
        if failed:
            raise CommandError(f"not mirrored: {', '.join(failed)}")

    def _list(self, cluster: Cluster, mirrored: Mirrored) -> bool:
        plural = mirrored.kind.plural
        make_cursors(cluster)
        with lease(lease_name(cluster.pk, plural), seconds=LEASE_SECONDS) as held:
            if held is None:
                self.stdout.write(f"{cluster.name} {plural}: a worker follows it")
                return True
            cluster.refresh_from_db()
            window = Window(
                cluster=cluster,
                kind=mirrored.kind,
                held=held,
                seconds=WINDOW_SECONDS,
                stopped=lambda: False,
            )
            try:
                list_all(window, client=client_of(cluster))
            except (ApiError, NotOurTurnError) as error:
                self.stderr.write(f"{cluster.name} {plural}: {error}")
                return False
        self.stdout.write(f"{cluster.name} {plural}: {mirrored.rows(cluster).count()} mirrored")
        return True
