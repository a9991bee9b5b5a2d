from nodeagent.fields import JsonObject
from nodeagent.kube.resources import WatchEvent
from nodeagent.publish.seen import SeenSlices


def a_slice(name: str, version: str) -> JsonObject:
    return {"metadata": {"name": name, "resourceVersion": version}}


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def versions(seen: SeenSlices) -> dict[str, str]:
    found = {}
    for one in seen.current() or ():
        metadata = one["metadata"]
        assert isinstance(metadata, dict)
        found[str(metadata["name"])] = str(metadata["resourceVersion"])
    return found


def test_nothing_is_known_before_the_first_list() -> None:
    seen = SeenSlices()
    seen.wrote(a_slice("a", "1"))

    assert seen.current() is None


def test_an_own_write_counts_until_the_watch_shows_it() -> None:
    seen = SeenSlices()
    seen.replace([], asked_at=0)
    seen.wrote(a_slice("a", "5"))

    assert versions(seen) == {"a": "5"}
    seen.apply(WatchEvent("ADDED", a_slice("a", "3")))
    assert versions(seen) == {"a": "5"}
    seen.apply(WatchEvent("MODIFIED", a_slice("a", "5")))
    seen.apply(WatchEvent("MODIFIED", a_slice("a", "6")))
    assert versions(seen) == {"a": "6"}


def test_what_the_watch_shows_before_a_write_is_answered_is_believed() -> None:
    seen = SeenSlices()
    seen.replace([], asked_at=0)

    seen.apply(WatchEvent("ADDED", a_slice("a", "5")))
    seen.wrote(a_slice("a", "5"))
    seen.apply(WatchEvent("MODIFIED", a_slice("a", "6")))
    seen.apply(WatchEvent("ADDED", a_slice("b", "7")))
    seen.apply(WatchEvent("DELETED", a_slice("b", "8")))
    seen.wrote(a_slice("b", "7"))

    assert versions(seen) == {"a": "6"}


def test_an_own_write_that_the_watch_never_shows_counts_for_a_minute() -> None:
    clock = Clock()
    seen = SeenSlices(monotonic=clock)
    seen.replace([], asked_at=0)
    seen.wrote(a_slice("a", "5"))

    clock.seconds = 59
    assert versions(seen) == {"a": "5"}
    clock.seconds = 61
    assert versions(seen) == {}


def test_a_deletion_ends_an_own_write_at_once() -> None:
    seen = SeenSlices()
    seen.replace([], asked_at=0)
    seen.wrote(a_slice("a", "5"))

    seen.apply(WatchEvent("DELETED", a_slice("a", "7")))

    assert versions(seen) == {}


def test_a_list_asked_for_after_a_write_is_believed() -> None:
    clock = Clock()
    seen = SeenSlices(monotonic=clock)
    seen.replace([], asked_at=0)
    clock.seconds = 10
    seen.wrote(a_slice("a", "5"))

    seen.replace([], asked_at=9)
    assert versions(seen) == {"a": "5"}
    seen.replace([], asked_at=11)
    assert versions(seen) == {}


def test_bookmarks_change_nothing() -> None:
    seen = SeenSlices()
    seen.replace([a_slice("a", "1")], asked_at=0)

    seen.apply(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "9"}}))

    assert versions(seen) == {"a": "1"}
