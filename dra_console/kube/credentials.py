"""Where an API server is and who we are to it, read from a kubeconfig or from the pod.

The `kubernetes` package reads the file and knows certificates, tokens and proxies; only its
configuration and its connection pool are used here. Its models and its generated methods
are not: they decode ten times slower than JSON does (`performance.md` section 3) and drop
the fields that they do not know. What it does not do is done here: programs that give
credentials (`exec_plugin`), and taking up credentials that change in their files while we
run. ADR 0012 has the reasons.
"""

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import yaml
from kubernetes import config
from kubernetes.client import Configuration
from kubernetes.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes.config.kube_config import KubeConfigLoader

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import KubeconfigError
from dra_console.kube.exec_plugin import run_plugin

TOKEN_FILE_SECONDS: Final = 60.0
"""How long a token from a file is used before the file is read again, as in client-go."""

EARLY_SECONDS: Final = 10.0
"""So long before its expiry a credential is no longer used; no request outlives it on the way."""

SHORTEST_SECONDS: Final = 1.0
"""A program that gives expired credentials is not run more often than this."""

UNUSABLE: Final = (
    config.ConfigException,
    OSError,
    yaml.YAMLError,
    # What the package's loader trips over where a document has another shape than it expects.
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials as they are now, and where they come from."""

    configuration: Configuration
    source: str
    """For messages: the file and its context, or the pod."""

    good_for_seconds: float | None = None
    """Then they are to be loaded anew; `None`: when the server refuses them."""


Load: TypeAlias = Callable[[], Credentials]
"""Reads the credentials anew: tokens and certificates in files change while we run."""


def from_kubeconfig(path: str, *, context: str) -> Load:
    """Load from one context of a kubeconfig file; an empty `context` means its current one."""
    source = f"{path}, context {context}" if context else path

    def load() -> Credentials:
        try:
            return _from_kubeconfig(Path(path), context=context, source=source)
        except KubeconfigError as error:
            raise KubeconfigError(f"{source}: {error}") from error
        except UNUSABLE as error:
            raise KubeconfigError(f"{source}: {_in_words(error)}") from error

    return load


def context_in(path: Path, *, context: str) -> str:
    """Name the context of a kubeconfig that is used when `context` is asked for.

    Raises:
        KubeconfigError: the file cannot be used, or names no context.

    """
    try:
        return str(_document(path, context=context)[1])
    except KubeconfigError as error:
        raise KubeconfigError(f"{path}: {error}") from error
    except UNUSABLE as error:
        raise KubeconfigError(f"{path}: {_in_words(error)}") from error


def in_cluster(
    *,
    token_file: str = SERVICE_TOKEN_FILENAME,
    authority_file: str = SERVICE_CERT_FILENAME,
    environment: Mapping[str, str] = os.environ,
) -> Load:
    """Load the service account that Kubernetes mounts into the pod."""

    def load() -> Credentials:
        configuration = Configuration()
        loader = InClusterConfigLoader(  # type: ignore[no-untyped-call] # the package has no types there
            token_file, authority_file, try_refresh_token=False, environ=environment
        )
        try:
            loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        except (config.ConfigException, OSError) as error:
            raise KubeconfigError(f"in-cluster credentials: {error}") from error
        return Credentials(configuration, "the pod's service account", TOKEN_FILE_SECONDS)

    return load


def _from_kubeconfig(path: Path, *, context: str, source: str) -> Credentials:
    document, name = _document(path, context=context)
    chosen = _named(document, "contexts", name, "context")
    cluster = _named(document, "clusters", chosen.get("cluster"), "cluster")
    user = _named(document, "users", chosen["user"], "user") if chosen.get("user") else {}
    good_for_seconds = TOKEN_FILE_SECONDS if "tokenFile" in user else None
    if "exec" in user:
        good_for_seconds = _run_exec(user, cluster=cluster, directory=path.parent)
    configuration = Configuration()
    loader = KubeConfigLoader(  # type: ignore[no-untyped-call] # the package has no types there
        # One context, with what the program said in place of the program.
        {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": user}],
        },
        config_base_path=str(path.parent.absolute()),
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    return Credentials(configuration, source, good_for_seconds)


def _document(path: Path, *, context: str) -> tuple[JsonObject, Json]:
    """Read a kubeconfig, and which of its contexts is meant."""
    document = yaml.safe_load(path.read_text())
    if not isinstance(document, dict):
        raise KubeconfigError("expected a kubeconfig, found no document")
    name = context or document.get("current-context")
    if not name:
        raise KubeconfigError("names no current-context; say which context to use")
    return document, name


def _run_exec(user: JsonObject, *, cluster: JsonObject, directory: Path) -> float | None:
    """Put the program's answer into `user`; return for how long it is good."""
    spec = user.pop("exec")
    if not isinstance(spec, dict):
        raise KubeconfigError("exec: expected an object")
    credential = run_plugin(spec, cluster=cluster, directory=directory)
    if credential.token:
        user["token"] = credential.token
    if credential.certificate_pem:
        for name, pem in (
            ("client-certificate-data", credential.certificate_pem),
            ("client-key-data", credential.key_pem),
        ):
            user[name] = base64.b64encode(pem.encode()).decode()
    if credential.expires_at is None:
        return None
    left_seconds = (credential.expires_at - datetime.now(UTC)).total_seconds()
    return max(left_seconds - EARLY_SECONDS, SHORTEST_SECONDS)


def _named(document: JsonObject, section: str, name: Json, member: str) -> JsonObject:
    """Return the entry of a kubeconfig's list that has this name."""
    entries = document.get(section)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name") == name:
            value = entry.get(member)
            return dict(value) if isinstance(value, dict) else {}
    raise KubeconfigError(f"has no {member} named {name!r}")


def _in_words(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file {error.filename}"
    return str(error) or type(error).__name__
