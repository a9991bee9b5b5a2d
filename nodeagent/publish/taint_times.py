"""Since when each device has each of its taints, as the API server noted it.

The server sets `timeAdded` where it is missing. A rewrite without it would start the clock of
every NoExecute eviction again, so what the server once said is sent back, also after kubelet has
wiped the slices (node-agent.md 4.6).
"""

from collections.abc import Iterable, Iterator

from nodeagent.fields import Fields, Json, JsonObject

TaintKey = tuple[str, str, str, str]
"""Device, key, value, effect."""


class TaintTimes:
    """Times by device and taint, as far as they were ever seen."""

    def __init__(self) -> None:
        self._times: dict[TaintKey, str] = {}

    def learn(self, specs: Iterable[JsonObject]) -> None:
        """Take over what stored slices say."""
        for key, taint in _taints_of(specs):
            time = taint.get("timeAdded")
            if isinstance(time, str):
                self._times[key] = time

    def keep_only(self, specs: Iterable[JsonObject]) -> None:
        """Forget taints that the wanted slices have no more: they start anew if they come back."""
        wanted = {key for key, _ in _taints_of(specs)}
        self._times = {key: time for key, time in self._times.items() if key in wanted}

    def dated(self, slice_object: JsonObject) -> JsonObject:
        """Return a slice that is to be sent with the times of its taints; a new one has none."""
        spec = slice_object["spec"]
        if not self._times or not isinstance(spec, dict):
            return slice_object
        devices: list[Json] = [
            self._dated_device(device.value) for device in Fields(spec, "spec").objects("devices")
        ]
        return {**slice_object, "spec": {**spec, "devices": devices} if devices else spec}

    def _dated_device(self, device: JsonObject) -> JsonObject:
        if not device.get("taints"):
            return device
        taints: list[Json] = [
            {**taint, "timeAdded": self._times[key]} if key in self._times else taint
            for key, taint in _taints_of_device(Fields(device, "device"))
        ]
        return {**device, "taints": taints}


def _taints_of(specs: Iterable[JsonObject]) -> Iterator[tuple[TaintKey, JsonObject]]:
    for spec in specs:
        for device in Fields(spec, "spec").objects("devices"):
            yield from _taints_of_device(device)


def _taints_of_device(device: Fields) -> Iterator[tuple[TaintKey, JsonObject]]:
    for taint in device.objects("taints"):
        value = taint.optional_text("value") or ""
        effect = taint.optional_text("effect") or ""
        yield (device.text("name"), taint.text("key"), value, effect), taint.value
