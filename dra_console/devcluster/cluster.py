"""What a running devcluster consists of, as request handlers get it."""

from dataclasses import dataclass

from dra_console.devcluster.authz import Policy
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer


@dataclass(frozen=True, slots=True)
class Cluster:
    """The objects, who may do what with them, and the key of the service accounts."""

    store: Store
    policy: Policy
    signer: Signer
