"""Where Prometheus asks for what all rooms count. Off unless an address is given."""

import platform

import prometheus_client
import structlog

from nodeagent import __version__

log = structlog.get_logger()

INFO = prometheus_client.Info("dra_nodeagent", "The agent that runs here")


def serve(address: tuple[str, int] | None) -> None:
    """Answer at `/metrics` on threads of its own, for as long as the process lives.

    Raises:
        OSError: the address cannot be bound.

    """
    if address is None:
        return
    INFO.info({"version": __version__, "python": platform.python_version()})
    host, port = address
    server, _ = prometheus_client.start_http_server(port, host)
    log.info("metrics served", host=host, port=server.server_port)
