"""A mount namespace for the node's programs, so that the machine sees nothing of their mounts.

kubelet and containerd write to paths that no option moves: shims below `/run/containerd`, CNI
results below `/var/lib`, links below `/var/log`; and kubelet sets kernel parameters. In the
namespace those directories are empty ones in memory, and the parameters are files that already
say what kubelet wants. All of it goes with the last process in it, however that one ends.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.cluster.rig.home import Home
from tests.cluster.rig.process import Server, StartError

HIDDEN: Final = ("/run", "/var/lib", "/var/log")
KERNEL_PARAMETERS: Final = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
}
"""What kubelet (its `setupKernelTunables`) and the CNI plugin `ptp` set on any node."""

SCRIPT: Final = """
set -e
mount --make-rshared /
for directory in {hidden}; do mount -t tmpfs -o mode=755 tmpfs "$directory"; done
cd {parameters}
find . -type f | while read -r name; do
  if [ -e "/proc/sys/$name" ]; then mount --bind "$name" "/proc/sys/$name"; fi
done
{binds}
touch {ready}
exec sleep infinity
"""


class MountNamespace(Server):
    """Holds the namespace; `enter` makes a command run in it."""

    def __init__(
        self, home: Home, folder: Path, *, bound: Mapping[str, Path] = MappingProxyType({})
    ) -> None:
        """Say which directories of the machine are seen under another path as well."""
        if any(home.folder.is_relative_to(hidden) for hidden in HIDDEN):
            raise StartError(f"{home.folder} is hidden from the node's programs: set TMPDIR")
        self._parameters = folder / "kernel-parameters"
        self._bound = bound
        self._ready = folder / "mounts-ready"
        super().__init__(
            "mounts",
            self._words,
            log=home.log("mounts"),
            environment=home.environment,
            is_ready=self._ready.exists,
        )

    def enter(self, *words: str | Path) -> list[str | Path]:
        """Return the command that runs this one in the namespace."""
        return ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", "--", *words]

    def run(self, *words: str | Path) -> str:
        """Run a command in the namespace to its end; return its output.

        Raises:
            StartError: it failed; the message has its output.

        """
        finished = subprocess.run(
            self.enter(*words), capture_output=True, text=True, check=False, env=self._environment
        )
        if finished.returncode != 0:
            raise StartError(f"{words[0]} failed: {finished.stdout}{finished.stderr}")
        return finished.stdout

    def _words(self) -> list[str | Path]:
        for name, value in KERNEL_PARAMETERS.items():
            file = self._parameters / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")
        for directory in self._bound.values():
            directory.mkdir(exist_ok=True)
        binds = [f"mkdir -p {path}; mount --bind {d} {path}" for path, d in self._bound.items()]
        script = SCRIPT.format(
            hidden=" ".join(HIDDEN),
            parameters=self._parameters,
            binds="\n".join(binds),
            ready=self._ready,
        )
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", script]
