"""One kind of the mirror's, followed from version to version."""

from collections.abc import Callable, Collection
from typing import Final, Generic, TypeVar

from dra_console.mirror.models import Cluster
from dra_console.scheduling.world.decoded import DecodedKind, Entry
from dra_console.scheduling.world.left_out import LeftOut

Decoded = TypeVar("Decoded")


class Followed(Generic[Decoded]):
    """Tells of each object that is new, changed or gone, and of those that cannot be read."""

    def __init__(
        self,
        rows: DecodedKind[Decoded],
        *,
        put: Callable[[Decoded], None],
        remove: Callable[[str], None],
    ) -> None:
        """Know of none; `remove` is called with keys, also of what is not there."""
        self.plural: Final = rows.kind.plural
        self._rows: Final = rows
        self._put: Final = put
        self._remove: Final = remove
        self._known: Final[dict[str, Entry[Decoded]]] = {}

    @property
    def left_out(self) -> list[LeftOut]:
        """List what cannot be read."""
        return [each.read for each in self._known.values() if isinstance(each.read, LeftOut)]

    def know(self, cluster: Cluster) -> tuple[Decoded, ...]:
        """Read all for the first time, without a word about any; return what can be read."""
        entries = self._rows.read(cluster)
        self._known.update(entries.of)
        return entries.readable

    def compare(self, cluster: Cluster) -> bool:
        """Look at the versions of all; tell whether anything has changed."""
        now = self._rows.read(cluster).of
        gone = [key for key in self._known if key not in now]
        changed = [entry for entry in now.values() if self._is_news(entry)]
        for key in gone:
            self._forget(key)
        for entry in changed:
            self._take(entry)
        return bool(gone or changed)

    def look_at(self, cluster: Cluster, keys: Collection[str]) -> bool:
        """Read these anew; tell whether any has changed."""
        has_changed = False
        for key, entry in self._rows.read_some(cluster, keys).items():
            if entry is None:
                has_changed |= key in self._known
                self._forget(key)
            elif self._is_news(entry):
                has_changed = True
                self._take(entry)
        return has_changed

    def _is_news(self, entry: Entry[Decoded]) -> bool:
        known = self._known.get(entry.key)
        return known is None or (known.uid, known.resource_version) != (
            entry.uid,
            entry.resource_version,
        )

    def _take(self, entry: Entry[Decoded]) -> None:
        self._known[entry.key] = entry
        if isinstance(entry.read, LeftOut):
            self._remove(entry.key)
        else:
            self._put(entry.read)

    def _forget(self, key: str) -> None:
        if self._known.pop(key, None) is not None:
            self._remove(key)
