"""Where an API server is and who we are to it, read from a kubeconfig or from the pod.

The `kubernetes` package knows every way in which people log in (client certificates,
tokens, exec plugins, OIDC); only its configuration and its connection pool are used here.
Its models and its generated methods are not: they decode ten times slower than JSON does
(`performance.md` section 3) and drop the fields that they do not know.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import yaml
from kubernetes import config
from kubernetes.client import Configuration

from dra_console.kube.errors import KubeconfigError

LoadConfiguration: TypeAlias = Callable[[], Configuration]
"""Reads the credentials anew: tokens and certificates in files change while we run."""

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


def from_kubeconfig(path: str, *, context: str) -> LoadConfiguration:
    """Load from one context of a kubeconfig file; an empty `context` means its current one."""

    def load() -> Configuration:
        configuration = Configuration()
        try:
            config.load_kube_config(  # type: ignore[no-untyped-call] # the package has no types there
                config_file=path,
                context=context or None,
                client_configuration=configuration,
                # The file belongs to its owner; refreshed tokens stay in memory.
                persist_config=False,
            )
        except UNUSABLE as error:
            where = f"{path}, context {context}" if context else path
            raise KubeconfigError(f"{where}: {error}") from error
        return configuration

    return load


def in_cluster() -> Configuration:
    """Load the service account that Kubernetes mounts into the pod."""
    configuration = Configuration()
    try:
        config.load_incluster_config(  # type: ignore[no-untyped-call] # the package has no types there
            client_configuration=configuration
        )
    except (config.ConfigException, OSError) as error:
        raise KubeconfigError(f"in-cluster credentials: {error}") from error
    return configuration
