"""What one API server keeps of slices, as far as it has been seen."""

from collections.abc import Iterable
from typing import Final

from nodeagent.kube.server_version import ServerVersion
from nodeagent.publish.features import Feature, Layout, Shape

SPLIT_SINCE: Final = (1, 35)


class ServerTraits:
    """Begins with nothing known, and then is told."""

    def __init__(self) -> None:
        self._keeps: dict[Feature, bool] = {}
        self._version: str | None = None
        self._has_switched = False
        self.layout = Layout.SPLIT

    def meet(self, version: ServerVersion) -> bool:
        """Take note of the server's version; tell whether it is a new one.

        A new version may keep what the old one did not, and the other way round.
        """
        if version.git_version == self._version:
            return False
        self._version = version.git_version
        self._keeps.clear()
        self._has_switched = False
        is_old = version.minor is not None and version.minor < SPLIT_SINCE
        self.layout = Layout.MIXED if is_old else Layout.SPLIT
        return True

    def learn(self, features: Iterable[Feature], *, kept: bool) -> None:
        """Note what was seen of features."""
        self._keeps.update(dict.fromkeys(features, kept))

    def forget_dropped(self) -> None:
        """Give what was dropped another chance: somebody may have switched it on."""
        self._keeps = {feature: kept for feature, kept in self._keeps.items() if kept}

    def unknown(self, features: Iterable[Feature]) -> frozenset[Feature]:
        """Return those of the features of which nothing has been seen yet."""
        return frozenset(features) - self._keeps.keys()

    def switch_layout(self) -> bool:
        """Change to the other layout, once for each version of a server; tell whether it went."""
        if self._has_switched:
            return False
        self._has_switched = True
        self.layout = self.layout.other
        return True

    @property
    def can_switch_layout(self) -> bool:
        """Whether the layout is still the one that the version stands for."""
        return not self._has_switched

    @property
    def shape(self) -> Shape:
        """The shape of what this server keeps; nothing that it has not been seen to keep."""
        kept = frozenset(feature for feature, is_kept in self._keeps.items() if is_kept)
        return Shape(kept, self.layout)
