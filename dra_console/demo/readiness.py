"""Whether the demo's cluster is there, and in the mirror."""

import json

from dra_console.demo.layout import Ports
from dra_console.running.accounts import Account
from dra_console.running.readiness import fetch


def api_server_answers(ports: Ports) -> bool:
    """Tell whether the embedded API server is ready."""
    return fetch(f"http://127.0.0.1:{ports.api_server}/readyz") is not None


def mirrored_nodes(ports: Ports, account: Account) -> int:
    """Count the nodes whose devices the mirror shows."""
    url = f"http://127.0.0.1:{ports.web}/api/v1/devices/?limit=500"
    body = fetch(url, token=account.token)
    if body is None:
        return 0
    return len({device["node"] for device in json.loads(body)["items"]})
