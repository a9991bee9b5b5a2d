"""What somebody copies to use a template elsewhere: a Pod, and the commands to create things.

Made from objects, never pasted together from text; what goes through a shell is quoted.
"""

import json
import shlex
from typing import Final
from urllib.parse import urlencode

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS
from dra_console.provisioning.yaml_text import dump_yaml

SCHEDULER_NAME: Final = "dra-console"
PAUSE_IMAGE: Final = "registry.k8s.io/pause:3.10"
"""Does nothing, on every architecture; what holds a pod's place in Kubernetes itself."""

CLAIM_NAME: Final = "gpu"
POD_NAME_BYTES: Final = 63
"""A pod's name is its host name, too, and is cut at 63 characters there."""


def pod(metadata: JsonObject, *, template_name: str) -> JsonObject:
    """Make a pod that has one claim from the template and does nothing with it."""
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": metadata,
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": PAUSE_IMAGE,
                    "resources": {"claims": [{"name": CLAIM_NAME}]},
                }
            ],
            "resourceClaims": [{"name": CLAIM_NAME, "resourceClaimTemplateName": template_name}],
        },
    }


def pod_yaml(namespace: str, template_name: str) -> str:
    """Write a pod that uses the template, to be changed and applied."""
    name = template_name[: POD_NAME_BYTES - len("-pod")].rstrip("-.")
    metadata: JsonObject = {"name": f"{name}-pod", "namespace": namespace}
    return dump_yaml(pod(metadata, template_name=template_name))


def kubectl_command(namespace: str, template_name: str) -> str:
    """Write the command that creates that pod."""
    return f"kubectl apply -f - <<'EOF'\n{pod_yaml(namespace, template_name)}EOF\n"


def curl_command(template: JsonObject, *, console_url: str, cluster_name: str) -> str:
    """Write the command that creates the template through this console's REST API.

    `console_url` ends with a slash, as in `https://console.example.org/`. The cluster is named
    even where there is only one: the command shall mean the same when there are more.
    """
    query = urlencode({"cluster": cluster_name})
    address = f"{console_url}api/v1/resourceclaimtemplates/?{query}"
    body = json.dumps(template, separators=(",", ":"), ensure_ascii=False)
    return (
        f"curl --fail-with-body {shlex.quote(address)} \\\n"
        '  -H "Authorization: Bearer $DRA_CONSOLE_TOKEN" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  --data-raw {shlex.quote(body)}\n"
    )
