"""Who may see how clusters are followed, and what stands in the way.

Names of clusters, states and ages are for everybody who is logged in: without them nobody can
judge what the pages show. Errors in full, who we are to an API server, where our credentials
are and what to grant are for operators of this console (staff accounts), and for whoever may
list the nodes of that cluster. Where the API server cannot be asked, nobody else sees them.
"""

from dra_console.access import rules
from dra_console.access.errors import RightsUnknownError
from dra_console.access.rules import Account
from dra_console.kube.kinds import NODES
from dra_console.mirror.models import Cluster


def may_inspect(user: Account, cluster: Cluster, *, is_reachable: bool | None) -> bool:
    """Tell whether the user may see errors and advice about following this cluster.

    An API server that is known to be away is not asked: the page that says so must not wait.
    """
    if user.is_anonymous or not user.is_active:
        return False
    if getattr(user, "is_staff", False):
        return True
    if is_reachable is False:
        return False
    try:
        return rules.may(user, cluster, "list", NODES)
    except RightsUnknownError:
        return False
