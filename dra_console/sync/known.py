"""What is mirrored before a list begins, so that what has not changed costs next to nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from dra_console.kube.changed import Identity
from dra_console.kube.kinds import PODS, Kind
from dra_console.mirror.models import Cluster, PodUse
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.objects import ObjectKey


@dataclass(frozen=True, slots=True)
class KnownVersions:
    """The rows of one kind, as far as a list needs to know them."""

    versions: Mapping[ObjectKey, tuple[str, str]]
    """UID and resource version of each."""

    names: set[ObjectKey]
    """Names that may have a row by now; grows while the list is written."""

    def holds(self, identity: Identity) -> bool:
        """Tell whether an object is mirrored in this very version."""
        version = self.versions.get(ObjectKey.of(identity))
        return version == (identity.uid, identity.resource_version)


def known_versions(cluster: Cluster, *, kind: Kind) -> KnownVersions:
    """Read them; some 200 bytes for each row of the kind."""
    rows = MIRRORED[kind.plural].rows(cluster).order_by()
    versions = {
        ObjectKey(namespace, name): (uid, version)
        for namespace, name, uid, version in rows.values_list(
            "namespace", "name", "uid", "resource_version"
        ).iterator()
    }
    if kind == PODS:
        return _known_pods(cluster, versions)
    return KnownVersions(versions, set(versions))


def _known_pods(cluster: Cluster, mirrored: Mapping[ObjectKey, tuple[str, str]]) -> KnownVersions:
    """Add pods that have no other row; leave out those whose use is of another version."""
    uses = PodUse.objects.filter(cluster=cluster).values_list(
        "namespace", "name", "uid", "resource_version", "is_mirrored"
    )
    versions = {}
    names = set(mirrored)
    for namespace, name, uid, version, is_mirrored in uses.iterator():
        key = ObjectKey(namespace, name)
        names.add(key)
        if not is_mirrored or mirrored.get(key) == (uid, version):
            versions[key] = (uid, version)
    return KnownVersions(versions, names)
