import threading
from datetime import UTC, datetime

from nodeagent.health.report import STALE_SECONDS, DeviceHealth, Reports, Status

AT = datetime(2026, 11, 30, tzinfo=UTC)
PATIENCE_SECONDS = 20


def a_device(status: Status = Status.HEALTHY, message: str = "") -> DeviceHealth:
    return DeviceHealth(device="gpu-0", status=status, message=message, since=AT)


def test_a_report_has_another_number_only_if_it_says_something_else() -> None:
    reports = Reports()
    assert reports.current().number == 0

    reports.put((a_device(),))
    reports.put((a_device(),))
    assert reports.current().number == 1

    reports.put((a_device(Status.UNHEALTHY, "lost"),))
    assert reports.current().number == 2


def test_a_report_that_nobody_renews_turns_unknown_by_itself() -> None:
    now = 100.0
    reports = Reports(lambda: now)
    reports.put((a_device(),))
    now += STALE_SECONDS - 0.1
    assert reports.current().devices[0].status is Status.HEALTHY

    now += 0.2
    expired = reports.current()

    assert expired.devices[0].status is Status.UNKNOWN
    assert expired.number == 2
    assert reports.current() == expired
    reports.put((a_device(),))
    assert reports.current().devices[0].status is Status.HEALTHY


def test_whoever_waits_is_told_at_once_and_nobody_waits_after_the_end() -> None:
    reports = Reports()
    got: list[int] = []
    waiting = threading.Thread(target=lambda: got.append(reports.wait(0, PATIENCE_SECONDS).number))
    waiting.start()
    reports.put((a_device(),))
    waiting.join(PATIENCE_SECONDS)
    assert got == [1]

    assert reports.wait(1, 0.01).number == 1
    ending = threading.Thread(target=lambda: got.append(reports.wait(1, 10_000).number))
    ending.start()
    reports.close()
    ending.join(PATIENCE_SECONDS)

    assert got == [1, 1]
    assert reports.is_closed


def test_a_message_is_printable_ascii_whatever_the_driver_says() -> None:
    message = a_device(message="d\u00e9faut\n\x00" + "x" * 5000).message

    assert message.startswith("d?faut??x")
    assert len(message) == 300
