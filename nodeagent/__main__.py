"""`python -m nodeagent`, installed as `dra-nodeagent`."""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import FrameType, MappingProxyType

import structlog

from nodeagent import metrics
from nodeagent.agent import Agent, read_boot_id
from nodeagent.claims.errors import ClaimsError
from nodeagent.commands.check import check, status_of
from nodeagent.commands.once import once
from nodeagent.config import Command, Config, parse
from nodeagent.devices.errors import DriverChangedError
from nodeagent.kube.client import Client
from nodeagent.kube.errors import CredentialsError
from nodeagent.kubelet.errors import KubeletError
from nodeagent.observer import Observer

EXPECTED = (ClaimsError, CredentialsError, DriverChangedError, KubeletError, OSError)
"""What ends the agent with one line; the pod is restarted."""

SIGNALLED = 128
"""What shells add to the number of the signal that ended a process."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)

log = structlog.get_logger()


def main() -> None:
    """Run one agent until it is told to stop; exit with 1 if it cannot go on."""
    # A container's first process never gets the signals that it does not handle.
    for number in SIGNALS:
        signal.signal(number, _end_at_once)
    config = parse(sys.argv[1:])
    _log_to_stderr(config.log_level)
    try:
        status = RUN[config.command](config)
    except EXPECTED as error:
        log.critical("agent ended", reason=str(error))
        status = 1
    logging.shutdown()
    # Threads that hang in the driver or in a watch must not keep a finished agent alive.
    os._exit(status)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    """End what holds nothing yet, or reads only."""
    os._exit(SIGNALLED + number)


def _check(config: Config) -> int:
    verdicts = []
    for verdict in check(config):
        sys.stdout.write(f"{verdict}\n")
        sys.stdout.flush()
        verdicts.append(verdict)
    return status_of(verdicts)


def _once(config: Config) -> int:
    json.dump(once(config), sys.stdout, indent=1)
    sys.stdout.write("\n")
    sys.stdout.flush()
    return 0


def _serve(config: Config) -> int:
    metrics.serve(config.metrics_address)
    agent = _agent(config)

    def stop(_number: int, _frame: FrameType | None) -> None:
        agent.stop()

    for number in SIGNALS:
        signal.signal(number, stop)
    agent.run()
    return 0


RUN: Mapping[Command, Callable[[Config], int]] = MappingProxyType(
    {Command.SERVE: _serve, Command.CHECK: _check, Command.ONCE: _once}
)


def _agent(config: Config) -> Agent | Observer:
    if config.only_watches:
        return Observer(config, boot_id=read_boot_id())
    client = Client.of(config.kubeconfig)
    return Agent(config, client=client, boot_id=read_boot_id())


def _log_to_stderr(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    main()
