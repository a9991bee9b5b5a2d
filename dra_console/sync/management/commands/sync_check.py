"""Ask whether the mirror is right."""

from django.core.management.base import BaseCommand, CommandError

from dra_console.kube.errors import ApiError, ForbiddenError, NotFoundError
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster
from dra_console.sync.differences import lasting_differences
from dra_console.sync.mirrored import MIRRORED, Mirrored


class Command(BaseCommand):
    """Compare mirror and API server object by object; exit 1 on a difference."""

    help = "Compare the mirror with every enabled cluster and print what differs."

    def handle(self, *_: object, **__: object) -> None:
        found = sum(
            self._check(cluster, mirrored)
            for cluster in Cluster.objects.filter(enabled=True)
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
            raise CommandError(f"{where}: {error}") from error
        for difference, truth in found.items():
            self.stdout.write(
                f"{cluster.name}: {difference.subject}: "
                f"mirror {difference.mirrored}, API server {truth}"
            )
        return len(found)
