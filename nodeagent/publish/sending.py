"""Send writes one by one, and look at what the server made of each (node-agent.md 4.5, 4.7)."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import structlog

from nodeagent.fields import Fields, JsonObject
from nodeagent.kube.errors import KubeError, NotFoundError
from nodeagent.publish import counts
from nodeagent.publish.api import SliceApi
from nodeagent.publish.compare import Alterations, is_same
from nodeagent.publish.features import Feature, lost_features
from nodeagent.publish.pace import Pace
from nodeagent.publish.plan import Writes
from nodeagent.publish.seen import SeenSlices
from nodeagent.publish.taint_times import TaintTimes

log = structlog.get_logger()

AT_ONCE: Final = 4
"""A pool is of no use until its last slice is there: the sooner the better."""

_Way: TypeAlias = tuple[JsonObject, Callable[[JsonObject], JsonObject], str]


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

        Some go at the same time. It stops where one lost fields of a feature.

        Raises:
            KubeError: the server refused one, or did not answer.

        """
        for slice_object in writes.delete:
            self._delete(slice_object)
        ways = [
            *((body, self.api.replace_slice, "replace") for body in writes.replace),
            *((body, self.api.create_slice, "create") for body in writes.create),
        ]
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slice-send") as senders:
            # The first slice alone: it has the counters that the devices in the others need.
            are_kept = self._are_kept(ways[:1], senders) and self._are_kept(ways[1:], senders)
        if not are_kept:
            return False
        log.info(
            "slices published",
            deleted=len(writes.delete),
            replaced=len(writes.replace),
            created=len(writes.create),
            generation=self.generation,
        )
        return True

    def _are_kept(self, ways: Sequence[_Way], senders: ThreadPoolExecutor) -> bool:
        """Send some at once; consumers wait for the last one, whatever their order."""
        under_way = [
            (body, operation, senders.submit(send, self._times.dated(body)))
            for body, send, operation in ways
        ]
        are_kept = True
        failure: Exception | None = None
        for body, operation, answer in under_way:
            if failure is not None or not are_kept:
                # What runs already is waited for: what it wrote has to be known.
                answer.cancel()
            try:
                stored = answer.result()
            except CancelledError:
                continue
            except KubeError as error:
                failure = failure or error
                continue
            self.pace.wrote()
            self.seen.wrote(stored)
            counts.WRITES.labels(operation).inc()
            are_kept &= self._is_kept(body, stored)
        if failure is not None:
            raise failure
        return are_kept

    def _is_kept(self, sent: JsonObject, stored: JsonObject) -> bool:
        sent_spec = Fields(sent, "ResourceSlice").object("spec").value
        kept_spec = Fields(stored, "ResourceSlice").object("spec").value
        self.generation = max(self.generation, _generation_of(kept_spec))
        self._times.learn([kept_spec])
        if is_same(kept_spec, sent_spec):
            return True
        lost = lost_features(sent_spec, kept_spec)
        if lost:
            self.on_dropped(lost)
            return False
        self.alterations.note(sent_spec, kept_spec)
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
