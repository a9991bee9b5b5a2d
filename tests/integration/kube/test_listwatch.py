import time

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube import listwatch, transport
from dra_console.kube.errors import ApiError, ExpiredError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.kube.listwatch import WatchEvent, open_watch, watch
from tests.builders.objects import a_claim
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status
from tests.unit.sync.rows import at_version


def an_event(happened: str, version: int, name: str = "train") -> Json:
    return {"type": happened, "object": at_version(a_claim(name), version)}


def watched(server: ScriptedServer, *, window_seconds: int = 5) -> list[WatchEvent]:
    stream = watch(
        server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=window_seconds
    )
    return list(stream)


def test_events_come_in_order_with_the_version_to_go_on_from(server: ScriptedServer) -> None:
    bookmark: Json = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
    server.will_answer(
        Answer(
            lines=(an_event("ADDED", 8), an_event("MODIFIED", 9), an_event("DELETED", 11), bookmark)
        )
    )

    assert [(event.type, event.resource_version) for event in watched(server)] == [
        ("ADDED", "8"),
        ("MODIFIED", "9"),
        ("DELETED", "11"),
        ("BOOKMARK", "12"),
    ]
    assert server.asked[0].query == {
        "watch": "true",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "5",
    }


def test_an_event_of_any_size_arrives_whole(server: ScriptedServer) -> None:
    large = at_version(a_claim(), 8, annotations={"note": "ü" * 750_000})
    server.will_answer(Answer(lines=({"type": "ADDED", "object": large}, an_event("ADDED", 9))))

    first, second = watched(server)

    assert first.object == large
    assert second.resource_version == "9"


def test_a_version_that_is_too_old_is_expired_at_once(server: ScriptedServer) -> None:
    server.will_answer(Answer(a_status(410, "too old"), status=410))

    with pytest.raises(ExpiredError):
        watched(server)


def test_a_version_that_expires_in_the_stream_is_expired(server: ScriptedServer) -> None:
    error: Json = {"type": "ERROR", "object": a_status(410, "compacted")}
    server.will_answer(Answer(lines=(an_event("ADDED", 8), error)))
    stream = watch(server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=5)

    assert next(stream).resource_version == "8"
    with pytest.raises(ExpiredError):
        next(stream)


def test_a_connection_that_breaks_is_an_error_after_the_events_before(
    server: ScriptedServer,
) -> None:
    server.will_answer(Answer(lines=(an_event("ADDED", 8),), breaks_off=True))
    stream = watch(server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=5)

    assert next(stream).resource_version == "8"
    with pytest.raises(ApiError):
        next(stream)


@pytest.mark.parametrize(
    "line",
    [{"type": "INVENTED", "object": {}}, {"type": ["ADDED"]}, {"type": "ADDED", "object": {}}, 7],
)
def test_what_is_no_event_is_an_error(server: ScriptedServer, line: Json) -> None:
    server.will_answer(Answer(lines=(line,)))

    with pytest.raises(ApiError, match="expected"):
        watched(server)


@pytest.mark.parametrize(
    "sent",
    [b"<html>\n<p>Bad gateway</p>\n</html>\n", b"<html>no end", b'{"type":"ADDED","object":{"meta'],
)
def test_a_page_of_a_proxy_and_half_an_event_are_errors_that_show_them(
    server: ScriptedServer, sent: bytes
) -> None:
    server.will_answer(Answer(lines=(sent,)))

    with pytest.raises(ApiError, match=r"expected JSON from the API server, got b'[<{]"):
        watched(server)


@pytest.mark.parametrize(
    ("status", "kind_of_error"),
    [
        (a_status(500, "etcd is away"), ApiError),
        (
            a_status(504, "Too large", causes=[{"reason": "ResourceVersionTooLarge"}]),
            ExpiredError,
        ),
    ],
)
def test_an_error_in_the_stream_is_raised_as_what_it_is(
    server: ScriptedServer, status: JsonObject, kind_of_error: type[ApiError]
) -> None:
    server.will_answer(Answer(lines=({"type": "ERROR", "object": status},)))

    with pytest.raises(ApiError, match=str(status["message"])) as raised:
        watched(server)

    assert type(raised.value) is kind_of_error
    assert raised.value.status == status["code"]


def test_a_line_without_end_is_given_up(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listwatch, "LONGEST_LINE_BYTES", 100_000)
    server.will_answer(Answer(lines=(b"x" * 90_000, b"x" * 90_000), stays_open=True))

    with pytest.raises(ApiError, match="expected a watch event, got"):
        watched(server)


def test_a_server_that_takes_the_request_and_hangs_is_an_error(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "READ_SECONDS", 0.5)
    server.will_answer(Answer(hangs=True))

    with pytest.raises(ApiError, match="connected, but no answer came in time"):
        watched(server, window_seconds=60)


def test_a_stream_may_be_silent_for_longer_than_an_answer(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "READ_SECONDS", 0.5)
    monkeypatch.setattr(listwatch, "SILENCE_SECONDS", 0.5)
    server.will_answer(Answer(lines=(an_event("ADDED", 8),), stays_open=True))
    began_at = time.monotonic()

    with open_watch(
        server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=1
    ) as stream:
        stream.read(timeout_seconds=5)
        with pytest.raises(ApiError, match="the watch broke"):
            stream.read(timeout_seconds=5)

    assert 1.5 <= time.monotonic() - began_at < 4


def test_a_watch_ends_with_its_window_even_if_the_server_does_not_end_it(
    server: ScriptedServer,
) -> None:
    server.will_answer(Answer(lines=(an_event("ADDED", 8),), stays_open=True))
    began_at = time.monotonic()

    assert len(watched(server, window_seconds=1)) == 1
    assert time.monotonic() - began_at < 3


def test_a_read_returns_in_time_without_events_and_can_be_repeated(
    server: ScriptedServer,
) -> None:
    server.will_answer(Answer(lines=(an_event("ADDED", 8),), stays_open=True))
    with open_watch(
        server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=20
    ) as stream:
        [event] = stream.read(timeout_seconds=5)
        began_at = time.monotonic()
        nothing = stream.read(timeout_seconds=0.1)
        waited_seconds = time.monotonic() - began_at

        assert event.resource_version == "8"
        assert (nothing, stream.at_end) == ([], False)
        assert 0.1 <= waited_seconds < 2
        began_at = time.monotonic()

    assert time.monotonic() - began_at < 2, "closing waits for the server"


def test_a_slow_reader_loses_nothing(server: ScriptedServer) -> None:
    server.will_answer(Answer(lines=tuple(an_event("ADDED", number) for number in range(20_000))))
    with open_watch(
        server.client(), RESOURCE_CLAIMS, resource_version="7", window_seconds=60
    ) as stream:
        seen: list[str] = []
        time.sleep(0.5)
        while not stream.at_end:
            seen += [event.resource_version for event in stream.read(timeout_seconds=5)]

    assert seen == [str(number) for number in range(20_000)]
