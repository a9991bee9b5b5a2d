import threading
import time

from nodeagent.publish.alarm import Alarm


def test_the_earliest_time_wins() -> None:
    alarm = Alarm()
    began = time.monotonic()
    alarm.ring_within(60)
    alarm.ring_within(0.05)
    alarm.ring_within(30)

    assert alarm.wait()
    assert time.monotonic() - began < 5


def test_it_rings_once_for_all_that_asked() -> None:
    alarm = Alarm()
    alarm.ring_within(0)
    alarm.ring_within(0)
    assert alarm.wait()

    rang: list[bool] = []
    waiter = threading.Thread(target=lambda: rang.append(alarm.wait()))
    waiter.start()
    waiter.join(0.1)
    assert rang == []
    alarm.close()
    waiter.join()
    assert rang == [False]


def test_a_waiting_thread_hears_of_an_earlier_time() -> None:
    alarm = Alarm()
    alarm.ring_within(60)
    rang: list[bool] = []
    waiter = threading.Thread(target=lambda: rang.append(alarm.wait()))
    waiter.start()

    alarm.ring_within(0)
    waiter.join(5)

    assert rang == [True]
