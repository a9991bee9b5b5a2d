"""Which clusters a command is about."""

from django.core.management.base import CommandError, CommandParser

from dra_console.mirror.clusters import enabled_cluster, enabled_clusters
from dra_console.mirror.models import Cluster


def add_cluster_argument(parser: CommandParser) -> None:
    """Let a command be about one cluster; without the option it is about all enabled ones."""
    parser.add_argument(
        "--cluster", metavar="NAME", default="", help="this one alone; default: every enabled one"
    )


def chosen_clusters(name: str) -> list[Cluster]:
    """Return the cluster of this name, or every enabled one if no name is given.

    Raises:
        CommandError: there is none, or it is disabled.

    """
    try:
        clusters = [enabled_cluster(name)] if name else enabled_clusters()
    except Cluster.DoesNotExist as error:
        raise CommandError(str(error), returncode=2) from error
    if not clusters:
        raise CommandError("no cluster is enabled; see `manage.py cluster list`", returncode=2)
    return clusters
