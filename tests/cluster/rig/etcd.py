"""etcd, where a cluster's objects are, and its history, which a compaction throws away."""

import http.client
import json
import ssl
from pathlib import Path

from tests.cluster.rig.api import Json
from tests.cluster.rig.home import LOOPBACK, Home
from tests.cluster.rig.process import Server, free_ports
from tests.cluster.tools.recipes import locate

TIMEOUT_SECONDS = 30


class Etcd(Server):
    """One etcd without `fsync`: data is for as long as the rig."""

    def __init__(self, home: Home) -> None:
        self._port, peer = free_ports(2)
        self.url = f"https://{LOOPBACK}:{self._port}"
        self._peer_url = f"http://{LOOPBACK}:{peer}"
        self._home = home
        pair = home.serving
        self._context = ssl.create_default_context(cafile=str(home.authority.pair.certificate))
        self._context.load_cert_chain(str(pair.certificate), str(pair.key))
        super().__init__(
            "etcd",
            self._words,
            log=home.log("etcd"),
            environment=home.environment,
            is_ready=self._is_healthy,
        )

    def compact(self) -> int:
        """Throw away all history before now; returns the revision that is the oldest from now on.

        A watch that starts before it, or a list that goes on from before it, gets 410.
        """
        revision = self.revision()
        self._call("POST", "/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def revision(self) -> int:
        """Return the present revision, which the API server calls resourceVersion."""
        answer = self._call("POST", "/v3/kv/range", {"key": "AA==", "limit": "1"})
        return int(answer["header"]["revision"])

    def _words(self) -> list[str | Path]:
        pair = self._home.serving
        authority = self._home.authority.pair.certificate
        return [
            locate("etcd"),
            "--name=rig",
            f"--data-dir={self._home.folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self._peer_url}",
            f"--initial-advertise-peer-urls={self._peer_url}",
            f"--initial-cluster=rig={self._peer_url}",
            "--client-cert-auth",
            f"--trusted-ca-file={authority}",
            f"--cert-file={pair.certificate}",
            f"--key-file={pair.key}",
        ]

    def _is_healthy(self) -> bool:
        try:
            return self._call("GET", "/health").get("health") == "true"
        except (OSError, http.client.HTTPException):
            return False

    def _call(self, method: str, path: str, body: dict[str, object] | None = None) -> Json:
        connection = http.client.HTTPSConnection(
            LOOPBACK, self._port, timeout=TIMEOUT_SECONDS, context=self._context
        )
        try:
            connection.request(method, path, body=None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"{path}: {answer.status} {text.decode()}")
        decoded: Json = json.loads(text)
        return decoded
