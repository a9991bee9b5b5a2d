"""Send writes one by one, and look at what the server made of each (node-agent.md 4.5, 4.7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import structlog

from nodeagent.fields import Fields, JsonObject
from nodeagent.kube.errors import KubeError, NotFoundError
from nodeagent.publish import counts
from nodeagent.publish.api import SliceApi
from nodeagent.publish.compare import Alterations, is_same
from nodeagent.publish.features import Feature, features_of, lost_features
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
    _stored: Mapping[str, JsonObject] = field(default_factory=dict, init=False)
    """Specs by name, as last looked at."""

    def look_at(self, stored: Iterable[JsonObject], *, wanted: Iterable[JsonObject]) -> None:
        """Take over what only the server knows: since when each taint is there, and how new all is.

        `wanted` are the specs that are to be; taints that they lack are forgotten.
        """
        slices = [Fields(one, "ResourceSlice") for one in stored]
        self._stored = {
            one.object("metadata").text("name"): one.object("spec").value for one in slices
        }
        specs = self._stored.values()
        self._times.learn(specs)
        self._times.keep_only(wanted)
        self.generation = max([self.generation, *map(_generation_of, specs)])

    def send(self, writes: Writes) -> bool:
        """Send what is planned; tell whether the server kept what counts.

        Replacements and creations go several at a time, with nothing in between. It stops where
        one lost fields of a feature.

        Raises:
            KubeError: the server refused one, or did not answer.

        """
        self._delete_all(writes.delete)
        ways = [
            *((body, self.api.replace_slice, "replace") for body in writes.replace),
            *((body, self.api.create_slice, "create") for body in writes.create),
        ]
        # The first one has the counters that devices in the others need, or taints as they do.
        trials = 1 if ways and self._may_lose(ways[0][0]) else 0
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slice-send") as senders:
            are_kept = self._are_kept(ways[:trials], senders) and self._are_kept(
                ways[trials:], senders
            )
        if not are_kept:
            return False
        self._delete_all(writes.clear)
        log.info(
            "slices published",
            deleted=len(writes.delete) + len(writes.clear),
            replaced=len(writes.replace),
            created=len(writes.create),
            generation=self.generation,
        )
        return True

    def _may_lose(self, body: JsonObject) -> bool:
        """Tell whether a server might drop fields: it keeps those that the slice has already."""
        fields = Fields(body, "ResourceSlice")
        before = self._stored.get(fields.object("metadata").optional_text("name") or "")
        kept = frozenset[Feature]() if before is None else features_of(before)
        return not features_of(fields.object("spec").value) <= kept

    def _are_kept(self, ways: Sequence[_Way], senders: ThreadPoolExecutor) -> bool:
        """Send some as fast as the server takes them, and look at the answers afterwards."""
        bodies = [self._times.dated(body) for body, _, _ in ways]
        under_way = [
            senders.submit(send, body) for body, (_, send, _) in zip(bodies, ways, strict=True)
        ]
        answers: list[JsonObject | None] = []
        failure: KubeError | None = None
        for answer in under_way:
            if failure is not None:
                # What runs already is waited for: what it wrote has to be known.
                answer.cancel()
            try:
                answers.append(answer.result())
            except CancelledError:
                answers.append(None)
            except KubeError as error:
                failure = failure or error
                answers.append(None)
        are_kept = True
        for (body, _, operation), stored in zip(ways, answers, strict=True):
            if stored is not None:
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

    def _delete_all(self, slices: Iterable[JsonObject]) -> None:
        for slice_object in slices:
            self._delete(slice_object)

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
