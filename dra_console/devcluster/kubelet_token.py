"""The token by which a node's agent shows the console which node it is on.

On a real node this is a projected volume of the agent's pod: a token of its service account,
bound to the node, for the console's audience, renewed when four fifths of its life are over
(Kubernetes "service account token volume projection").
"""

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from dra_console.devcluster.errors import NotFoundError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Reference, ServiceAccountToken, Signer
from dra_console.kube.kinds import NODES, SERVICE_ACCOUNTS

log = structlog.get_logger()

AGENT_NAMESPACE: Final = "dra-console"
AGENT_ACCOUNT: Final = "dra-nodeagent"
AGENT_AUDIENCE: Final = "dra-console"

RENEWED_AFTER: Final = 0.8
"""Part of a token's life after which it is replaced, as kubelet does."""

RETRY_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class AgentToken:
    """Keeps one node's token file fresh."""

    store: Store
    signer: Signer
    node_name: str
    path: Path
    lifetime_seconds: int

    def renew(self) -> float:
        """Write a new token; return the seconds until the next is due.

        Without the account (or the node) the file is left as it is, and the seconds are those
        until it is worth another try.
        """
        try:
            token = self._token()
        except NotFoundError as error:
            log.debug("no agent token", node=self.node_name, reason=error.message)
            return RETRY_SECONDS
        # Readers see the old token or the new, never a part, and nobody else sees either.
        fresh = self.path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.signer.sign(token))
        fresh.replace(self.path)
        return self.lifetime_seconds * RENEWED_AFTER

    def _token(self) -> ServiceAccountToken:
        account = self.store.stored(SERVICE_ACCOUNTS, AGENT_NAMESPACE, AGENT_ACCOUNT).value
        node = self.store.stored(NODES, "", self.node_name).value
        issued_at = int(time.time())
        return ServiceAccountToken(
            namespace=AGENT_NAMESPACE,
            account=Reference(AGENT_ACCOUNT, inside(account, "metadata").text("uid")),
            audiences=(AGENT_AUDIENCE,),
            issued_at=issued_at,
            expires_at=issued_at + self.lifetime_seconds,
            token_id=secrets.token_hex(16),
            node=Reference(self.node_name, inside(node, "metadata").text("uid")),
        )
