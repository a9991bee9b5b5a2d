"""Say which clusters this console mirrors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, KubeconfigError
from dra_console.kube.introspection import missing_verbs
from dra_console.mirror.clock import database_now
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster, Cursor
from dra_console.sync.advice import advice_for, mirror_role_yaml
from dra_console.sync.cursors import make_cursors
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed, follow_states
from dra_console.sync.identity import identity_of
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.probe import ServerFacts, facts_of

IN_CLUSTER: Final = "in-cluster"
TAKES_NAME: Final = {
    "enable": "follow a disabled cluster again",
    "disable": "stop following a cluster and showing it; what was mirrored stays",
    "remove": "stop mirroring a cluster and forget it",
}


class Command(BaseCommand):
    """Add, list, enable, disable and remove clusters. Credentials stay in their files."""

    help = "Add, list, enable, disable and remove the clusters that this console mirrors."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="mirror a cluster, or change where it is found")
        add.add_argument("name")
        add.add_argument(
            "--kubeconfig", default="", help="path of a kubeconfig file; without it: the pod's own"
        )
        add.add_argument("--context", default="", help="default: the file's current context")
        add.add_argument(
            "--unchecked", action="store_true", help="add it even if its API server does not answer"
        )
        verbs.add_parser("list", help="show each cluster, and how well each kind is followed")
        for verb, what in TAKES_NAME.items():
            verbs.add_parser(verb, help=what).add_argument("name")

    def handle(self, *_: object, verb: str, **options: str) -> None:
        match verb:
            case "add":
                cluster = _described(options["name"], options["kubeconfig"], options["context"])
                self._add(cluster, is_checked=not options["unchecked"])
            case "list":
                self._list()
            case "enable" | "disable":
                self._set_enabled(options["name"], enabled=verb == "enable")
            case _:
                self._remove(options["name"])

    def _add(self, cluster: Cluster, *, is_checked: bool) -> None:
        try:
            cluster.full_clean()
            client = client_of(cluster)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        except KubeconfigError as error:
            raise CommandError(str(error)) from error
        facts: ServerFacts | None = None
        missing: dict[str, tuple[str, ...]] = {}
        uid = ""
        try:
            facts = facts_of(client)
            missing = _missing_rights(client)
            uid = identity_of(client)
        except ApiError as error:
            if is_checked:
                raise CommandError(
                    f"{_place_of(cluster)}: the API server cannot be asked, so nothing was added "
                    f"(--unchecked adds it all the same): {error}"
                ) from error
            self.stderr.write(f"{_place_of(cluster)}: not checked: {error}")
        _check_identity(cluster, uid=uid)
        cluster.save()
        make_cursors(cluster)
        self.stdout.write(f"cluster {cluster.name} is mirrored from {_place_of(cluster)}")
        if facts is not None:
            self._tell(facts, missing)

    def _tell(self, facts: ServerFacts, missing: Mapping[str, tuple[str, ...]]) -> None:
        versions = ", ".join(facts.resource_versions) or "not served"
        self.stdout.write(f"  API server {facts.version}; resource.k8s.io: {versions}")
        self.stdout.write(f"  we are {facts.username or 'somebody that it does not tell'} there")
        readable = [plural for plural in MIRRORED if plural not in missing]
        self.stdout.write(f"  readable: {', '.join(readable) or 'nothing'}")
        if missing:
            lacks = (f"{plural} (no {' and no '.join(verbs)})" for plural, verbs in missing.items())
            self.stdout.write(f"  not readable: {', '.join(lacks)}; this grants it:")
            # Not indented: it is to be copied.
            self.stdout.write(mirror_role_yaml(facts.username))

    def _list(self) -> None:
        followed = follow_states(Cluster.objects.order_by("name"), now=database_now())
        if not followed:
            self.stdout.write("no cluster yet; add one with `manage.py cluster add`")
        for one in followed:
            self.stdout.write(f"{one.cluster.name}  {_state_in_words(one)}")
            self.stdout.write(f"  from {_place_of(one.cluster)}")
            if one.server and one.server.version:
                versions = ", ".join(one.server.resource_versions) or "not served"
                self.stdout.write(
                    f"  API server {one.server.version}; resource.k8s.io: {versions}; "
                    f"we are {one.server.username or 'not told who'} there"
                )
            for kind in one.kinds:
                self.stdout.write(f"  {_kind_in_words(kind)}")
            for advice in advice_for(one):
                self.stdout.write(f"  ! {advice.headline}. {advice.text}")
                if advice.snippet:
                    self.stdout.write(advice.snippet)

    def _set_enabled(self, name: str, *, enabled: bool) -> None:
        if not Cluster.objects.filter(name=name).update(enabled=enabled):
            raise CommandError(f"no cluster is called {name}")
        if enabled:
            self.stdout.write(f"cluster {name} is enabled: a worker follows it within seconds")
        else:
            self.stdout.write(f"cluster {name} is disabled: what was mirrored stays, unseen")

    def _remove(self, name: str) -> None:
        with transaction.atomic():
            # With every cursor in hand no window is in mid-batch; they find no cursor then.
            list(Cursor.objects.select_for_update().filter(cluster__name=name).order_by("pk"))
            removed, _ = Cluster.objects.filter(name=name).delete()
        if not removed:
            raise CommandError(f"no cluster is called {name}")
        self.stdout.write(f"cluster {name} is no longer mirrored")


def _described(name: str, kubeconfig: str, context: str) -> Cluster:
    """Return the cluster as it is to be; not saved."""
    cluster = Cluster.objects.filter(name=name).first() or Cluster(name=name)
    cluster.kubeconfig = str(Path(kubeconfig).expanduser().resolve()) if kubeconfig else ""
    cluster.context = context
    cluster.enabled = True
    return cluster


def _check_identity(cluster: Cluster, *, uid: str) -> None:
    """Refuse what is mirrored under another name already: two leases would hand out one device.

    A cluster that is new here takes its identity along, so that the next one is told apart
    even before a worker has seen this one.
    """
    if not uid:
        return
    twin = Cluster.objects.filter(kube_system_uid=uid).exclude(name=cluster.name).first()
    if twin is not None:
        raise CommandError(
            f"{_place_of(cluster)}: this is cluster {twin.name} (namespace kube-system has UID "
            f"{uid}), mirrored from {_place_of(twin)} already"
        )
    if cluster._state.adding:  # noqa: SLF001 - Django's documented name
        cluster.kube_system_uid = uid


def _missing_rights(client: Client) -> dict[str, tuple[str, ...]]:
    """Return by plural which verbs we lack; nothing for what we may follow."""
    verbs = {plural: missing_verbs(client, each.kind) for plural, each in MIRRORED.items()}
    return {plural: lacking for plural, lacking in verbs.items() if lacking}


def _place_of(cluster: Cluster) -> str:
    where = cluster.kubeconfig or IN_CLUSTER
    return f"{where}, context {cluster.context}" if cluster.context else where


def _state_in_words(followed: ClusterFollowed) -> str:
    if not followed.cluster.enabled:
        return FollowState.DISABLED.words
    if followed.is_reachable is False:
        return "does not answer"
    if followed.troubles:
        return f"{len(followed.troubles)} of {len(followed.kinds)} kinds not followed"
    return "followed"


def _kind_in_words(kind: KindFollowed) -> str:
    facts = [f"{kind.plural:24}", f"{kind.state.words:16}"]
    if kind.lag is not None:
        facts.append(f"heard of {kind.lag.total_seconds():.0f} s ago")
    if kind.objects is not None:
        facts.append(f"{kind.objects} objects")
    if kind.relists:
        facts.append(f"{kind.relists} relists")
    if kind.error:
        facts.append(kind.error)
    return "  ".join(facts).rstrip()
