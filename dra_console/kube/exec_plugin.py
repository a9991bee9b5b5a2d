"""Ask a program for credentials, as kubeconfig's `users[].user.exec` says.

The client library runs such programs too, but logs their failures and goes on as nobody,
and asks those that give short-lived tokens before each request. Here a failure is an error
that names the program, and the answer says how long it is good for. The protocol is
`client.authentication.k8s.io/v1` and `v1beta1`, `ExecCredential`.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import KubeconfigError

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
LONGEST_SECONDS: Final = 60
"""A program that takes longer waits for somebody who is not there."""

STDERR_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What the program answered: a token, a client certificate with its key, or both."""

    token: str
    certificate_pem: str
    key_pem: str
    expires_at: datetime | None


def run_plugin(spec: JsonObject, *, cluster: JsonObject, directory: Path) -> ExecCredential:
    """Run the program of an `exec` section; a relative path is one from `directory`.

    `cluster` is the kubeconfig's own description of the cluster.

    Raises:
        KubeconfigError: the section, the program or its answer cannot be used.

    """
    command, version = spec.get("command"), spec.get("apiVersion")
    if not isinstance(command, str) or not command:
        raise KubeconfigError("exec.command: expected a program, got none")
    if version not in VERSIONS:
        raise KubeconfigError(f"exec.apiVersion: expected {' or '.join(VERSIONS)}, got {version!r}")
    if spec.get("interactiveMode") == "Always":
        raise KubeconfigError(f"exec {command}: wants a terminal, which a server has not")
    told: JsonObject = {"apiVersion": version, "kind": "ExecCredential"}
    told["spec"] = {"interactive": False}
    if spec.get("provideClusterInfo") is True:
        told["spec"] = {"interactive": False, "cluster": _cluster_info(cluster)}
    environment = os.environ | _environment(spec) | {"KUBERNETES_EXEC_INFO": json.dumps(told)}
    program = str(directory / command) if "/" in command else command
    answer = _output([program, *_texts(spec.get("args"))], environment, spec=spec)
    return _credential(answer, version=version, command=command)


def _output(arguments: list[str], environment: dict[str, str], *, spec: JsonObject) -> str:
    try:
        finished = subprocess.run(
            arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=True,
        )
    except FileNotFoundError as error:
        hint = spec.get("installHint")
        more = f"; {hint}" if isinstance(hint, str) and hint else ""
        raise KubeconfigError(f"exec {spec['command']}: there is no such program{more}") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()[-STDERR_LENGTH:] or "without a word"
        raise KubeconfigError(
            f"exec {spec['command']}: ended with {error.returncode}: {said}"
        ) from error
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"exec {spec['command']}: {error}") from error
    return finished.stdout


def _credential(answer: str, *, version: Json, command: str) -> ExecCredential:
    try:
        decoded = json.loads(answer)
    except ValueError as error:
        raise KubeconfigError(f"exec {command}: expected JSON on its output, got none") from error
    if not isinstance(decoded, dict) or decoded.get("kind") != "ExecCredential":
        raise KubeconfigError(f"exec {command}: expected an ExecCredential")
    if decoded.get("apiVersion") != version:
        raise KubeconfigError(
            f"exec {command}: expected an answer in {version}, got {decoded.get('apiVersion')!r}"
        )
    status = decoded.get("status")
    if not isinstance(status, dict):
        raise KubeconfigError(f"exec {command}: expected a status in its ExecCredential, got none")
    token, certificate, key = (
        _text(status.get(name)) for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not certificate:
        raise KubeconfigError(f"exec {command}: gave neither a token nor a client certificate")
    if bool(certificate) != bool(key):
        raise KubeconfigError(f"exec {command}: gave a certificate or key without the other")
    return ExecCredential(token, certificate, key, _expiry(status, command=command))


def _expiry(status: JsonObject, *, command: str) -> datetime | None:
    spelled = status.get("expirationTimestamp")
    if spelled is None:
        return None
    try:
        moment = datetime.fromisoformat(_text(spelled))
    except ValueError as error:
        raise KubeconfigError(
            f"exec {command}: status.expirationTimestamp: expected a time, got {spelled!r}"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _cluster_info(cluster: JsonObject) -> JsonObject:
    info: JsonObject = {
        name: cluster[name]
        for name in (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority-data",
            "proxy-url",
        )
        if name in cluster
    }
    extensions = cluster.get("extensions")
    for extension in extensions if isinstance(extensions, list) else []:
        if isinstance(extension, dict) and extension.get("name") == f"{GROUP}/exec":
            info["config"] = extension.get("extension")
    return info


def _environment(spec: JsonObject) -> dict[str, str]:
    entries = spec.get("env")
    return {
        _text(entry.get("name")): _text(entry.get("value"))
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and entry.get("name")
    }


def _texts(values: Json) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
