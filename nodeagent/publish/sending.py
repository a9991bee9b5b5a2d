"""Send writes one by one, and look at what the server made of each (node-agent.md 4.5, 4.7)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog

from nodeagent.fields import Fields, JsonObject
from nodeagent.kube.errors import NotFoundError
from nodeagent.publish import counts
from nodeagent.publish.api import SliceApi
from nodeagent.publish.compare import Alterations
from nodeagent.publish.features import Feature, lost_features
from nodeagent.publish.pace import Pace
from nodeagent.publish.plan import Writes
from nodeagent.publish.seen import SeenSlices
from nodeagent.publish.taint_times import TaintTimes

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Sender:
    """The way of slices to the server, and what was learnt on it."""

    api: SliceApi
    seen: SeenSlices
    pace: Pace
    on_dropped: Callable[[Iterable[Feature]], None]
    alterations: Alterations = field(default_factory=Alterations)
    generation: int = 0
    """The newest one that anybody may have seen."""

    _times: TaintTimes = field(default_factory=TaintTimes, init=False)

    def look_at(self, stored: Iterable[JsonObject], *, wanted: Iterable[JsonObject]) -> None:
        """Take over what only the server knows: since when each taint is there, and how new all is.

        `wanted` are the specs that are to be; taints that they lack are forgotten.
        """
        specs = [Fields(one, "ResourceSlice").object("spec").value for one in stored]
        self._times.learn(specs)
        self._times.keep_only(wanted)
        self.generation = max([self.generation, *map(_generation_of, specs)])

    def send(self, writes: Writes) -> bool:
        """Delete, replace, create, in this order; tell whether the server kept what counts.

        It stops at the first slice that lost fields of a feature.

        Raises:
            KubeError: the server refused one, or did not answer.

        """
        for slice_object in writes.delete:
            self._delete(slice_object)
        ways = (
            (writes.replace, self.api.replace_slice, "replace"),
            (writes.create, self.api.create_slice, "create"),
        )
        for bodies, send, operation in ways:
            for body in bodies:
                stored = send(self._times.dated(body))
                self.pace.wrote()
                self.seen.wrote(stored)
                counts.WRITES.labels(operation).inc()
                if not self._is_kept(body, stored):
                    return False
        log.info(
            "slices published",
            deleted=len(writes.delete),
            replaced=len(writes.replace),
            created=len(writes.create),
            generation=self.generation,
        )
        return True

    def _is_kept(self, sent: JsonObject, stored: JsonObject) -> bool:
        sent_spec = Fields(sent, "ResourceSlice").object("spec").value
        kept_spec = Fields(stored, "ResourceSlice").object("spec").value
        self.generation = max(self.generation, _generation_of(kept_spec))
        self._times.learn([kept_spec])
        lost = lost_features(sent_spec, kept_spec)
        if lost:
            self.on_dropped(lost)
            return False
        if self.alterations.note(sent_spec, kept_spec):
            log.warning("slice altered by the api server")
        return True

    def _delete(self, slice_object: JsonObject) -> None:
        metadata = Fields(slice_object, "ResourceSlice").object("metadata")
        name = metadata.text("name")
        try:
            self.api.delete_slice(
                name,
                uid=metadata.text("uid"),
                resource_version=metadata.text("resourceVersion"),
            )
        except NotFoundError:
            log.debug("slice was gone already", slice=name)
        self.pace.wrote()
        counts.WRITES.labels("delete").inc()
        self.seen.removed(name)


def _generation_of(spec: JsonObject) -> int:
    return Fields(spec, "spec").object("pool").optional_integer("generation") or 0
