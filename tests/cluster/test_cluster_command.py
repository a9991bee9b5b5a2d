"""What `cluster add` prints to grant is enough, on a real API server with RBAC."""

from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command

from dra_console.sync.mirrored import MIRRORED
from tests.cluster.rig import Cluster

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def added(kubeconfig: Path) -> str:
    said = StringIO()
    call_command("cluster", "add", "real", "--kubeconfig", str(kubeconfig), stdout=said)
    return said.getvalue()


def test_the_role_that_is_printed_lets_every_kind_be_mirrored(cluster: Cluster) -> None:
    rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}
    account = cluster.service_account("mirror", rule)

    before = added(account.kubeconfig)
    role, binding = yaml.safe_load_all(before.partition("this grants it:")[2])
    cluster.api.create(f"{RBAC}/clusterroles", role)
    cluster.api.create(f"{RBAC}/clusterrolebindings", binding)
    after = added(account.kubeconfig)
    call_command("sync_once", "--cluster", "real")
    checked = StringIO()
    call_command("sync_check", "--cluster", "real", stdout=checked)

    assert "we are system:serviceaccount:default:mirror there" in before
    assert "  readable: namespaces\n" in before
    assert f"  readable: {', '.join(MIRRORED)}\n" in after
    assert checked.getvalue() == "no difference\n"
