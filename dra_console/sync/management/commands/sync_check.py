"""Ask whether the mirror is right."""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dra_console.kube.errors import ApiError, ForbiddenError, NotFoundError
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.sync.chosen_clusters import add_cluster_argument, chosen_clusters
from dra_console.sync.differences import lasting_differences
from dra_console.sync.mirrored import MIRRORED, Mirrored


class Command(BaseCommand):
    """Compare mirror and API server object by object.

    Exits 0 when they are equal, 1 on a difference that stays, 2 when they could not be compared.
    """

    help = (
        "Compare the mirror with the API server and print what differs. Exit status: 0 equal, "
        "1 they differ, 2 they could not be compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_cluster_argument(parser)

    def handle(self, *_: object, cluster: str, **__: object) -> None:
        found = sum(
            self._check(one, mirrored)
            for one in chosen_clusters(cluster)
            for mirrored in MIRRORED.values()
        )
        if found:
            raise CommandError(f"{found} differences")
        self.stdout.write("no difference")

    def _check(self, cluster: Cluster, mirrored: Mirrored) -> int:
        where = f"{cluster.name} {mirrored.kind.plural}"
        try:
            found = lasting_differences(cluster, mirrored=mirrored, client=client_of(cluster))
        except (ForbiddenError, NotFoundError) as error:
            self.stdout.write(f"{where}: not served to us: {error}")
            return 0
        except ApiError as error:
            raise CommandError(f"{where}: {error}", returncode=2) from error
        for difference, truth in found.items():
            self.stdout.write(
                f"{cluster.name}: {difference.subject}: "
                f"mirror {difference.mirrored}, API server {truth}"
            )
        return len(found)
