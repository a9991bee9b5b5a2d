"""Find out what the API server keeps, and tell the administrator what it does not."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.kube.errors import (
    ForbiddenError,
    InvalidError,
    KubeError,
    NotFoundError,
    StatusError,
)
from nodeagent.kube.events import feature_dropped
from nodeagent.publish import counts
from nodeagent.publish.api import SliceApi
from nodeagent.publish.features import Feature
from nodeagent.publish.plan import Pool
from nodeagent.publish.probe import is_kept
from nodeagent.publish.traits import ServerTraits

log = structlog.get_logger()

LOOK_SECONDS: Final = 3600
BAD_REQUEST: Final = 400
CONSEQUENCES: Final[Mapping[Feature, str]] = MappingProxyType(
    {
        Feature.TAINTS: "Devices with taints are taken out of the pool.",
        Feature.INFORMING_TAINTS: "Taints without effect are not published.",
        Feature.COUNTERS: "Partitions made on demand are taken out of the pool.",
        Feature.SHARES: "Each GPU goes to one claim at a time.",
        Feature.LISTS: "Of attributes with several values the first is published.",
    }
)


class Learning:
    """What is known of one API server; looks again each hour and after an upgrade."""

    def __init__(self, api: SliceApi, *, node_name: str, monotonic: Callable[[], float]) -> None:
        self.traits = ServerTraits()
        self._api = api
        self._node_name = node_name
        self._monotonic = monotonic
        self._looked_at: float | None = None
        self._told: set[Feature] = set()

    @property
    def seconds_to_look(self) -> float:
        """How long until the server is to be looked at again."""
        if self._looked_at is None:
            return 0.0
        return max(0.0, self._looked_at + LOOK_SECONDS - self._monotonic())

    def look(self) -> bool:
        """Ask once an hour for the server's version; tell whether it is a new one.

        Raises:
            KubeError: it has never been asked with success, and cannot be now.

        """
        if self.seconds_to_look > 0:
            return False
        now = self._monotonic()
        try:
            version = self._api.server_version()
        except (ForbiddenError, NotFoundError) as error:
            # Whoever hides it gets what every server since 1.35 takes.
            log.warning("server version not told", reason=str(error))
            self._looked_at = now
            self.traits.forget_dropped()
            return False
        except KubeError as error:
            if self._looked_at is None:
                raise
            log.warning("server version not read", reason=str(error))
            self._looked_at = now
            return False
        is_first = self._looked_at is None
        self._looked_at = now
        is_new = self.traits.meet(version)
        if is_new and not is_first:
            log.info("api server is another one now", version=version.git_version)
            self._api.rediscover()
        self.traits.forget_dropped()
        return is_new

    def probe(self, features: Iterable[Feature], *, pool: Pool) -> None:
        """Learn about features by dry run.

        Raises:
            KubeError: there is no answer now; ask again.

        """
        for feature in sorted(features, key=lambda feature: feature.name):
            kept = self._is_kept(feature, pool)
            log.info("feature probed", feature=feature.value, kept=kept)
            self._learn(feature, kept=kept)

    def dropped(self, features: Iterable[Feature]) -> None:
        """Learn from the answer to a write that features are not kept, whatever a probe said."""
        for feature in features:
            self._learn(feature, kept=False)

    def _is_kept(self, feature: Feature, pool: Pool) -> bool:
        try:
            return is_kept(
                feature, layout=self.traits.layout, pool=pool, try_slice=self._api.try_slice
            )
        except InvalidError as error:
            log.info("feature refused", feature=feature.value, reason=str(error))
            if feature is Feature.COUNTERS and self.traits.switch_layout():
                log.info("counters in the other layout", layout=self.traits.layout.value)
                return self._is_kept(feature, pool)
        except StatusError as error:
            # An admission webhook that takes no dry run.
            if error.status != BAD_REQUEST:
                raise
            log.warning("feature not probed", feature=feature.value, reason=str(error))
        return False

    def _learn(self, feature: Feature, *, kept: bool) -> None:
        self.traits.learn([feature], kept=kept)
        counts.note_feature(feature, kept=kept)
        if kept or feature in self._told:
            return
        self._told.add(feature)
        consequence = CONSEQUENCES[feature]
        log.error("feature dropped by the api server", feature=feature.value, then=consequence)
        event = feature_dropped(self._node_name, feature=feature.value, consequence=consequence)
        try:
            self._api.create_event(event, namespace="default")
        except KubeError as error:
            log.warning("event not recorded", reason=str(error))
