import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
import redis

from dra_console import leases
from dra_console.leases import Lease, is_held, lease

SECONDS = 2


pytestmark = pytest.mark.usefixtures("server")


@pytest.fixture
def server(redis_url: str) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    yield client
    client.close()


def test_one_holder_at_a_time() -> None:
    with lease("one", seconds=SECONDS) as first, lease("one", seconds=SECONDS) as second:
        assert first is not None
        assert second is None
        assert is_held("one")

    assert not is_held("one")


def test_leases_of_other_names_are_free() -> None:
    with lease("one", seconds=SECONDS), lease("two", seconds=SECONDS) as other:
        assert other is not None


def test_each_holder_has_a_greater_fence_than_the_one_before() -> None:
    fences = []
    for _ in range(5):
        with lease("one", seconds=SECONDS) as held:
            assert held is not None
            fences.append(held.fence)

    assert fences == sorted(set(fences))


def test_fences_grow_even_when_redis_lost_everything(server: redis.Redis) -> None:
    with lease("one", seconds=SECONDS) as before:
        assert before is not None
    server.flushdb()
    time.sleep(0.002)

    with lease("one", seconds=SECONDS) as after:
        assert after is not None
        assert after.fence > before.fence


def test_a_lease_is_renewed_as_long_as_it_is_held() -> None:
    with lease("one", seconds=SECONDS) as held:
        assert held is not None
        time.sleep(SECONDS * 1.5)

        assert not held.is_lost
        assert is_held("one")


def test_a_holder_whose_lease_was_taken_away_knows_and_leaves_the_next_one_alone(
    server: redis.Redis,
) -> None:
    with lease("one", seconds=SECONDS) as first:
        assert first is not None
        server.delete("lease:{one}")
        with lease("one", seconds=SECONDS) as second:
            assert second is not None
            assert second.fence > first.fence
            _wait_until_lost(first)
            assert not second.is_lost

    assert not is_held("one")


def test_a_holder_that_cannot_renew_loses_its_lease_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: str) -> None:
        raise redis.ConnectionError("unplugged")

    with lease("one", seconds=SECONDS) as held:
        assert held is not None
        with monkeypatch.context() as unplugged:
            unplugged.setattr(leases, "_script", fail)
            _wait_until_lost(held)


def test_a_holder_that_was_killed_blocks_nobody_for_longer_than_its_term(
    redis_url: str,
) -> None:
    program = (
        "from dra_console.leases import lease\n"
        "import time\n"
        f"with lease('one', seconds={SECONDS}):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    own_settings = {
        "DJANGO_SETTINGS_MODULE": "dra_console.settings",
        "DRA_CONSOLE_REDIS_URL": redis_url,
    }
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=os.environ | own_settings
    ) as holder:
        assert holder.stdout is not None
        said = holder.stdout.readline()
        held_while_alive = is_held("one")
        holder.kill()
    assert (said, held_while_alive) == (b"held\n", True)
    killed_at = time.monotonic()
    while is_held("one"):
        assert time.monotonic() - killed_at < SECONDS + 1
        time.sleep(0.02)

    with lease("one", seconds=SECONDS) as held:
        assert held is not None


def test_of_many_that_try_at_once_one_succeeds() -> None:
    holders: list[Lease] = []
    everybody_tried = threading.Barrier(8)

    def hold() -> None:
        with lease("one", seconds=SECONDS) as held:
            if held is not None:
                holders.append(held)
            everybody_tried.wait(timeout=10)

    threads = [threading.Thread(target=hold) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(holders) == 1


def _wait_until_lost(held: Lease) -> None:
    deadline = time.monotonic() + SECONDS + 1
    while not held.is_lost:
        assert time.monotonic() < deadline
        time.sleep(0.02)
