"""What a container runtime makes of CDI names: it looks them up in the files of a directory.

The directory is read anew for each container, so that no stale file is ever believed. Where
two files name the same device, neither counts (CDI specification, "conflict resolution").
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json
from dra_console.devcluster.cdi_spec import CdiDevice, read_spec


class UnresolvableCdiDevicesError(Exception):
    """The runtime cannot give a container its devices; the message says which and why."""


@dataclass(frozen=True, slots=True)
class CdiDirectory:
    """The directory of dynamic CDI files of one node, `/var/run/cdi` on a real one."""

    path: Path

    def resolve(self, names: Iterable[str]) -> None:
        """Check that every name can be injected.

        Raises:
            UnresolvableCdiDevicesError: a name is in no valid file or in several, or a device
                node that it needs is not on the host.

        """
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return
        devices, complaints = self._read()
        missing = [name for name in wanted if name not in devices]
        if missing:
            why = f" ({'; '.join(complaints)})" if complaints else ""
            raise UnresolvableCdiDevicesError(
                f"CDI device injection failed: unresolvable CDI devices {', '.join(missing)}{why}"
            )
        for node in (node for name in wanted for node in devices[name].host_nodes):
            if not os.path.lexists(node):
                raise UnresolvableCdiDevicesError(
                    f"CDI device injection failed: no such device node on the host: {node}"
                )

    def _read(self) -> tuple[dict[str, CdiDevice], list[str]]:
        """Return the devices by qualified name, and what is wrong with the other files."""
        found: list[CdiDevice] = []
        complaints: list[str] = []
        paths = sorted(self.path.glob("*")) if self.path.is_dir() else []
        for path in paths:
            if path.suffix not in {".json", ".yaml"}:
                continue
            try:
                found += read_spec(_parsed(path))
            except FileNotFoundError:
                # Removed between listing and reading: as if it had never been there.
                continue
            except (DecodeError, ValueError, yaml.YAMLError) as error:
                complaints.append(f"{path.name}: {error}")
        counts = Counter(device.qualified_name for device in found)
        complaints += [f"{name} is in {n} files" for name, n in counts.items() if n > 1]
        return {
            device.qualified_name: device for device in found if counts[device.qualified_name] == 1
        }, complaints


def _parsed(path: Path) -> Json:
    content = path.read_text()
    parsed: Json = json.loads(content) if path.suffix == ".json" else yaml.safe_load(content)
    return parsed
