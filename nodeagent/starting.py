"""The steps of a start that are more than making a part (node-agent.md 0.3)."""

import time
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.char_links import CharLinks, nodes_of
from nodeagent.claims.errors import LockTimeoutError
from nodeagent.claims.execution import Execution
from nodeagent.claims.injection import Injection
from nodeagent.claims.lock import locked
from nodeagent.claims.recovery import Recovered, recover
from nodeagent.config import Config
from nodeagent.devices.model import Inventory
from nodeagent.kube.events import checkpoint_corrupted
from nodeagent.kube.resources import Resources
from nodeagent.own_node import OwnNode

log = structlog.get_logger()

PLUGIN_DIRECTORY_MODE: Final = 0o750
CDI_DIRECTORY_MODE: Final = 0o755
PREDECESSOR_SECONDS: Final = 45
"""How long a predecessor may take to finish its running calls."""


def make_directories(config: Config) -> None:
    """Make what the agent writes into.

    Raises:
        OSError: one cannot be made.

    """
    config.plugin_directory.mkdir(mode=PLUGIN_DIRECTORY_MODE, parents=True, exist_ok=True)
    for directory in (config.cdi_directory, config.static_cdi_directory):
        if directory is not None:
            directory.mkdir(mode=CDI_DIRECTORY_MODE, parents=True, exist_ok=True)


def alone(config: Config, *, pod_uid: str | None) -> AbstractContextManager[None]:
    """Keep others from the node, or only from each claim where two agents may be there.

    Raises:
        LockTimeoutError: another agent has the node to itself.

    """
    if pod_uid is not None:
        return nullcontext()
    return locked(config.plugin_directory / "agent.lock", within_seconds=PREDECESSOR_SECONDS)


def recover_claims(
    execution: Execution, resources: Resources, node: OwnNode, config: Config
) -> None:
    """Make the checkpoint and the node agree.

    Raises:
        LockTimeoutError: another agent does not let the claims go.

    """
    recovered = _recovered(
        execution, resources, config, deadline=time.monotonic() + PREDECESSOR_SECONDS
    )
    if recovered.rebuilt:
        log.warning("claims found again without the checkpoint", claims=recovered.rebuilt)
    if recovered.corrupt_file is not None:
        node.record(checkpoint_corrupted(config.node_name, file=recovered.corrupt_file))


def _recovered(
    execution: Execution, resources: Resources, config: Config, *, deadline: float
) -> Recovered:
    while True:
        try:
            return recover(
                execution,
                claims=lambda: resources.claims().items,
                driver=config.driver,
                pool=config.node_name,
                now=datetime.now(UTC),
            )
        except LockTimeoutError:
            if time.monotonic() >= deadline:
                raise
            log.info("another agent is at work on a claim")


def check_char_links(injection: Injection, inventory: Inventory | None, config: Config) -> None:
    """Make the links that systemd needs, or say which are missing."""
    if config.profile is not None or inventory is None:
        return
    links = CharLinks(Path("/dev"))
    nodes = nodes_of(injection.edits, inventory.devices)
    missing = links.create(nodes) if config.creates_char_links else links.missing(nodes)
    if missing:
        paths = [node.path for node in missing]
        log.warning("systemd will take nodes without /dev/char link from pods", nodes=paths)
