"""A certificate authority for one cluster, so that every client verifies every server.

openssl is used, since it is on every machine that has certificates. Certificates are valid
from long ago: tests run workers whose clock is off.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

VALID_FROM: Final = "20200101000000Z"
VALID_TO: Final = "20500101000000Z"
PLAIN: Final = re.compile(r"[^A-Za-z0-9.:@_-]")

Words = tuple[str | Path, ...]

CONFIGURATION: Final = """
[ca]
default_ca = cluster
[cluster]
new_certs_dir = {folder}
database = {folder}/index
rand_serial = yes
unique_subject = no
default_md = sha256
default_days = 3650
policy = anything
copy_extensions = copy
[anything]
organizationName = optional
commonName = supplied
[req]
distinguished_name = asked
[asked]
"""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Files of a certificate and its key, PEM."""

    certificate: Path
    key: Path


class Authority:
    """Signs the certificates of one cluster."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        self._configuration = folder / "openssl.cnf"
        self._configuration.write_text(CONFIGURATION.format(folder=folder))
        (folder / "index").touch()
        self.pair = self._make(
            "ca",
            "/CN=dra-console-rig",
            "basicConstraints=critical,CA:true",
            "keyUsage=critical,keyCertSign,cRLSign,digitalSignature",
            signer=("-selfsign", "-keyfile", folder / "ca.key"),
        )

    def for_server(
        self, name: str, *, hosts: Iterable[str] = (), addresses: Iterable[IPv4Address] = ()
    ) -> KeyPair:
        """Sign for a server at 127.0.0.1, and at the given DNS names and addresses."""
        ips = ["127.0.0.1", *map(str, addresses)]
        names = ",".join([f"IP:{ip}" for ip in ips] + [f"DNS:{h}" for h in ("localhost", *hosts)])
        # etcd's HTTP gateway is a client of etcd with the server's own certificate.
        return self._sign(name, f"/CN={name}", "serverAuth,clientAuth", f"subjectAltName={names}")

    def for_user(self, user: str, *, groups: Iterable[str] = ()) -> KeyPair:
        """Sign for a client whom the API server takes for this user of these groups."""
        subject = "".join(f"/O={_escaped(group)}" for group in groups) + f"/CN={_escaped(user)}"
        return self._sign("user-" + PLAIN.sub("_", user), subject, "clientAuth")

    def key_pair_without_certificate(self, name: str) -> KeyPair:
        """Make an RSA key and its public half, for the tokens of service accounts."""
        key, public = self._folder / f"{name}.key", self._folder / f"{name}.pub"
        _openssl("genrsa", "-out", key, "2048")
        _openssl("rsa", "-in", key, "-pubout", "-out", public)
        return KeyPair(certificate=public, key=key)

    def _sign(self, name: str, subject: str, usage: str, *extensions: str) -> KeyPair:
        signer: Words = ("-cert", self.pair.certificate, "-keyfile", self.pair.key)
        return self._make(name, subject, f"extendedKeyUsage={usage}", *extensions, signer=signer)

    def _make(self, name: str, subject: str, *extensions: str, signer: Words) -> KeyPair:
        pair = KeyPair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        request = self._folder / f"{name}.csr"
        added = [word for extension in extensions for word in ("-addext", extension)]
        _openssl(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-config", self._configuration, "-subj", subject),
            *added,
            *("-keyout", pair.key, "-out", request),
        )
        _openssl(
            *("ca", "-batch", "-notext", "-config", self._configuration),
            *signer,
            *("-startdate", VALID_FROM, "-enddate", VALID_TO),
            *("-in", request, "-out", pair.certificate),
        )
        return pair


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace("/", "\\/").replace("+", "\\+")


def _openssl(*words: str | Path) -> None:
    finished = subprocess.run(
        ["openssl", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if finished.returncode != 0:
        raise RuntimeError(f"openssl {words[0]} failed: {finished.stderr.strip()}")
