"""List everything once, without a worker."""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dra_console.kube.errors import ApiError
from dra_console.leases import lease
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.sync.chosen_clusters import add_cluster_argument, chosen_clusters
from dra_console.sync.cursors import make_cursors
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.listing import list_all
from dra_console.sync.mirrored import MIRRORED, Mirrored
from dra_console.sync.tasks import LEASE_SECONDS, WINDOW_SECONDS, lease_name
from dra_console.sync.window import Window


class Command(BaseCommand):
    """Bring the mirror in line with full lists.

    Exits 0 when every kind is mirrored or in a worker's hands, 1 when one is not, 2 when there
    is no such cluster.
    """

    help = (
        "List every kind once and mirror it. Exit status: 0 all mirrored, 1 not all, 2 no such "
        "cluster."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_cluster_argument(parser)

    def handle(self, *_: object, cluster: str, **__: object) -> None:
        failed = [
            f"{one.name} {plural}"
            for one in chosen_clusters(cluster)
            for plural, mirrored in MIRRORED.items()
            if not self._list(one, mirrored)
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
