"""Say which clusters this console mirrors."""

from pathlib import Path
from typing import Final

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from dra_console.kube.errors import KubeconfigError
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.cursors import make_cursors

IN_CLUSTER: Final = "in-cluster"


class Command(BaseCommand):
    """Add, list and remove clusters. Credentials stay in their files."""

    help = "Add, list and remove the clusters that this console mirrors."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="mirror a cluster, or change where it is found")
        add.add_argument("name")
        add.add_argument(
            "--kubeconfig", default="", help="path of a kubeconfig file; without it: the pod's own"
        )
        add.add_argument("--context", default="", help="default: the file's current context")
        verbs.add_parser("list", help="show each cluster and how far it is followed")
        remove = verbs.add_parser("remove", help="stop mirroring a cluster and forget it")
        remove.add_argument("name")

    def handle(self, *_: object, verb: str, **options: str) -> None:
        match verb:
            case "add":
                self._add(options["name"], options["kubeconfig"], options["context"])
            case "list":
                self._list()
            case _:
                self._remove(options["name"])

    def _add(self, name: str, kubeconfig: str, context: str) -> None:
        cluster = Cluster.objects.filter(name=name).first() or Cluster(name=name)
        cluster.kubeconfig = str(Path(kubeconfig).expanduser().resolve()) if kubeconfig else ""
        cluster.context = context
        cluster.enabled = True
        try:
            cluster.full_clean()
            client_of(cluster)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        except KubeconfigError as error:
            raise CommandError(str(error)) from error
        cluster.save()
        make_cursors(cluster)
        self.stdout.write(f"cluster {name} is mirrored from {_place_of(cluster)}")

    def _list(self) -> None:
        for cluster in Cluster.objects.prefetch_related("cursors"):
            self.stdout.write(f"{cluster.name}  {_place_of(cluster)}")
            for cursor in sorted(cluster.cursors.all(), key=lambda cursor: cursor.plural):
                state = (
                    cursor.error or f"at version {cursor.resource_version or '(not listed yet)'}"
                )
                self.stdout.write(f"  {cursor.plural}  {state}")

    def _remove(self, name: str) -> None:
        with transaction.atomic():
            # With every cursor in hand no window is in mid-batch; they find no cursor then.
            list(Cursor.objects.select_for_update().filter(cluster__name=name).order_by("pk"))
            removed, _ = Cluster.objects.filter(name=name).delete()
        if not removed:
            raise CommandError(f"no cluster is called {name}")
        self.stdout.write(f"cluster {name} is no longer mirrored")


def _place_of(cluster: Cluster) -> str:
    where = cluster.kubeconfig or IN_CLUSTER
    return f"{where}, context {cluster.context}" if cluster.context else where
