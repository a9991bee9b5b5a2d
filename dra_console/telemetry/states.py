"""Read the live state of many nodes at once, for the sockets' once-a-second tick."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from redis.asyncio import Redis

from dra_console.telemetry import records
from dra_console.telemetry.records import AgentRecord, Keys, LatestRecord


class NodeKey(NamedTuple):
    """Which node of which cluster."""

    cluster_id: int
    node_name: str


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a node's agent said last; `None` where it has said nothing within a day."""

    agent: AgentRecord | None
    latest: LatestRecord | None
    last_seen_at: datetime | None


async def node_states(client: Redis, nodes: Collection[NodeKey]) -> dict[NodeKey, NodeState]:
    """Give the state of each node, in one round trip for all of them."""
    names_by_cluster: dict[int, list[str]] = {}
    for cluster_id, node_name in nodes:
        names_by_cluster.setdefault(cluster_id, []).append(node_name)
    async with client.pipeline(transaction=False) as pipeline:
        for cluster_id, names in names_by_cluster.items():
            keys = Keys(cluster_id)
            pipeline.hmget(keys.agents, names)
            pipeline.hmget(keys.latest, names)
            pipeline.zmscore(keys.seen, names)
        answers = iter(await pipeline.execute())
    return {
        NodeKey(cluster_id, node_name): _state(agent, latest, seen)
        for cluster_id, names in names_by_cluster.items()
        for node_name, agent, latest, seen in zip(
            names, next(answers), next(answers), next(answers), strict=True
        )
    }


def _state(agent: bytes | None, latest: bytes | None, seen: float | None) -> NodeState:
    return NodeState(
        agent=None if agent is None else records.agent_decoder.decode(agent),
        latest=None if latest is None else records.latest_decoder.decode(latest),
        last_seen_at=None if seen is None else datetime.fromtimestamp(seen, UTC),
    )
