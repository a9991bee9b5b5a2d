"""Tell browsers and the scheduling backend that something changed.

Two ways out, both only after the database transaction has been committed, so
that whoever reads on hearing of a change sees it:

- `claims_changed` and `inventory_changed` are Django signals for other rooms of
  this process (`scheduling` starts an attempt on them).
- `publish_on_commit` sends a topic's name to the browsers subscribed to it. The
  message carries no object: each browser fetches again with its own rights. When it was
  is noted, too (`topic_ages`), for pages that subscribe a moment later.
"""

from asgiref.sync import async_to_sync, sync_to_async
from channels.layers import channel_layers
from django.db import transaction
from django.dispatch import Signal

from dra_console.topic_ages import note_changes

claims_changed = Signal()
"""Sent after claims, templates or pods changed in the mirror, with `cluster_id`, `plural` and the
`keys` of what changed: `namespace/name`, or names of what is in no namespace; `None` for many."""

inventory_changed = Signal()
"""Sent likewise after slices, classes, nodes or taint rules changed in the mirror."""

room_changed = Signal()
"""Sent with `cluster_id` and `node_names`, `None` for many, after pods of any kind came to nodes,
left them or changed what they take there. In a large cluster that is many times a second."""

BROWSER_MESSAGE = "topic.changed"
"""Channels message type that `live.browsers` handles."""


def devices_topic(cluster_id: int) -> str:
    """Name the topic of a cluster's device board: slices, nodes and who holds what."""
    return f"devices.{cluster_id}"


def claims_topic(cluster_id: int) -> str:
    """Name the topic of a cluster's claim and template lists."""
    return f"claims.{cluster_id}"


def claim_topic(cluster_id: int, uid: str) -> str:
    """Name the topic of one claim: its state, attempts, pods and prepared devices."""
    return f"claim.{cluster_id}.{uid}"


def attempts_topic(cluster_id: int) -> str:
    """Name the topic of what was tried for a cluster's pending claims and pods."""
    return f"attempts.{cluster_id}"


def telemetry_topic(cluster_id: int, node_name: str) -> str:
    """Name the topic of the readings of one node's devices."""
    return f"telemetry.{cluster_id}.{node_name}"


def publish_on_commit(*topics: str) -> None:
    """Send topics' names to their subscribers once the current transaction is committed.

    A failure is logged by Django and goes no further: what was written stands, and a page
    that missed a change shows it when it is loaded again.
    """
    transaction.on_commit(lambda: publish(*topics), robust=True)


def publish(*topics: str) -> None:
    """Send topics' names to their subscribers now; several at once cost little more than one."""
    note_changes(topics)
    async_to_sync(_send)(*topics)


async def announce(*topics: str) -> None:
    """Send topics' names to their subscribers now, from a consumer."""
    await sync_to_async(note_changes, thread_sensitive=False)(topics)
    await _send(*topics)


async def _send(*topics: str) -> None:
    layer = channel_layers["default"]
    for topic in topics:
        await layer.group_send(topic, {"type": BROWSER_MESSAGE, "topic": topic})
