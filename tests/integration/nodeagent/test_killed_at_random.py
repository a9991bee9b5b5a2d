"""The real process, killed with SIGKILL at random moments while kubelet calls it."""

import random
import threading
import time
from collections.abc import Callable

import grpc
import pytest

from tests.integration.nodeagent.rig import AgentProcess, ApiServer, KubeletSide, uid_of

pytestmark = pytest.mark.long

ROUNDS = 4
PAIRS = [
    ("one", "gpu-0-mig-3g20gb-9-4"),
    ("two", "gpu-0-mig-1g5gb-19-0"),
    ("rival-of-one", "gpu-0-mig-2g10gb-14-4"),
    ("three", "gpu-1-mig-7g40gb-0-0"),
]


def test_what_kubelet_was_told_holds_after_every_kill(
    new_agent: Callable[..., AgentProcess], api_server: ApiServer
) -> None:
    agent = new_agent("a100x2-mig")
    agent.start()
    agent.wait_until_it_serves()
    claims = {
        name: api_server.allocate(f"killed-{name}", device, node=agent.node)
        for name, device in PAIRS
    }
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    told: dict[str, bool | None] = dict.fromkeys(claims)

    def call_until_killed() -> None:
        kubelet = KubeletSide(agent)
        while True:
            name = chance.choice(sorted(claims))
            uid = uid_of(claims[name])
            try:
                if chance.random() < 0.6:
                    before, told[name] = told[name], None
                    answer = kubelet.prepare(claims[name])[uid]
                    told[name] = before if answer.error else True
                else:
                    told[name] = None
                    told[name] = bool(kubelet.unprepare(claims[name])[uid])
                    # A pod that comes back is reserved again, which changes the claim.
                    claims[name] = api_server.touch(claims[name])
            except grpc.RpcError:
                return

    for _ in range(ROUNDS):
        caller = threading.Thread(target=call_until_killed)
        caller.start()
        time.sleep(chance.uniform(0.02, 0.6))
        agent.kill()
        caller.join()

        agent.start()
        agent.wait_until_it_serves()

        completed = agent.completed()
        rivals = {uid_of(claims[name]) for name in ("one", "rival-of-one")}
        assert not rivals <= set(completed), f"seed {seed}: memory is held twice"
        planned = {device for held in completed.values() for device in held}
        assert agent.partitions() == planned, f"seed {seed}: entries and partitions differ"
        assert set(completed) == agent.cdi_files(), f"seed {seed}: entries and files differ"
        for name, is_prepared in told.items():
            if is_prepared is not None:
                found = uid_of(claims[name]) in completed
                assert found == is_prepared, f"seed {seed}: {name} was told {is_prepared}"
