from datetime import timedelta

from dra_console.allocator.model import Json
from dra_console.devcluster.event_expiry import EventExpiry
from dra_console.devcluster.metadata import now, timestamp
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import EVENTS


def add_event(store: Store, **fields: Json) -> None:
    store.create(EVENTS, {"metadata": {"namespace": "lab", "generateName": "e"}, **fields})


def test_an_event_goes_after_an_hour(store: Store) -> None:
    add_event(store)

    EventExpiry(store).sweep(now=now() + timedelta(minutes=59))
    assert len(store.list(EVENTS)[0]) == 1

    EventExpiry(store).sweep(now=now() + timedelta(minutes=61))
    assert store.list(EVENTS)[0] == []


def test_an_event_that_was_repeated_counts_from_then(store: Store) -> None:
    add_event(store, lastTimestamp=timestamp(now() + timedelta(minutes=30)))

    EventExpiry(store).sweep(now=now() + timedelta(minutes=80))

    assert len(store.list(EVENTS)[0]) == 1


def test_an_unreadable_time_is_not_believed(store: Store) -> None:
    add_event(store, lastTimestamp="yesterday")

    EventExpiry(store).sweep(now=now() + timedelta(minutes=61))

    assert store.list(EVENTS)[0] == []
