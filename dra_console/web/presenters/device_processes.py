"""Whose processes use a device, as far as the reader may know.

A pod is named only to whoever may list pods of its namespace; that there is a process is no secret
to whoever may see the device.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dra_console.mirror.pod_names import PodName
from dra_console.telemetry.details import DeviceProcess
from dra_console.web.wording import bytes_in_words


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process, and whose it is as far as the reader may know."""

    pid: int
    memory: str
    owner: str
    pod: PodName | None
    """`None`: `owner` says why no pod is named."""

    container: str
    """The first digits of its id, as tools show them; empty: none."""


def process_row(
    process: DeviceProcess, *, pods: Mapping[str, PodName], visible: Collection[str] | None
) -> ProcessRow:
    """Draw one process; `visible` are the namespaces whose pods may be named, None: all."""
    pod = pods.get(process.pod_uid or "")
    is_seen = pod is not None and (visible is None or pod.namespace in visible)
    if process.pod_uid is None:
        owner = "no pod: a process of the host"
    elif pod is None and visible is None:
        owner = f"a pod that is not known here, {process.pod_uid}"
    else:
        owner = "a pod that you may not see"
    return ProcessRow(
        pid=process.pid,
        memory="not reported"
        if process.memory_used_bytes is None
        else bytes_in_words(process.memory_used_bytes),
        owner=f"{pod.namespace}/{pod.name}" if pod is not None and is_seen else owner,
        pod=pod if is_seen else None,
        container=(process.container_id or "")[:12] if is_seen or visible is None else "",
    )
