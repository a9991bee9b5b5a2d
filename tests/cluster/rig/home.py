"""The folder of one rig: what every process of it shares."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.rig.addresses import Addresses
from tests.cluster.rig.certificates import Authority, KeyPair
from tests.cluster.rig.guard import MARK
from tests.cluster.rig.process import environment_of

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a rig's files are, and who signs for it."""

    folder: Path
    authority: Authority
    serving: KeyPair
    """The certificate that every server of the cluster shows."""

    @property
    def addresses(self) -> Addresses:
        """Where pods and services are."""
        return Addresses.of(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs so that it ends with the rig, whatever happens."""
        return environment_of(MARK, self.folder)

    def log(self, server: str) -> Path:
        """Return the file that a server's output is added to."""
        return self.folder / "logs" / f"{server}.log"

    def write_kubeconfig(
        self, name: str, url: str, *, token: str | None = None, pair: KeyPair | None = None
    ) -> Path:
        """Write a kubeconfig with a token or a certificate, for this user alone to read."""
        user: dict[str, str] = {}
        if token is not None:
            user["token"] = token
        if pair is not None:
            user["client-certificate-data"] = _data(pair.certificate)
            user["client-key-data"] = _data(pair.key)
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "rig",
                    "cluster": {
                        "server": url,
                        "certificate-authority-data": _data(self.authority.pair.certificate),
                    },
                }
            ],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": name}}],
            "current-context": "rig",
        }
        path = self.folder / f"{name}.kubeconfig"
        path.touch(mode=0o600)
        # JSON is YAML, and every client reads it.
        path.write_text(json.dumps(document, indent=2) + "\n")
        return path


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
