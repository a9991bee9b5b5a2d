"""The API server: what it serves, what this agent may do there, and what it may not."""

from collections.abc import Iterator
from typing import Final

from nodeagent.commands.rights import Right, needed_rights
from nodeagent.commands.verdict import Verdict, fault, good, unknown, warning
from nodeagent.config import Config
from nodeagent.fields import FieldError, Fields, JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.errors import ForbiddenError, KubeError, NotFoundError, StatusError
from nodeagent.kube.resources import Resources
from nodeagent.kube.server_version import ServerVersion
from nodeagent.kube.versions import GROUP, SPOKEN
from nodeagent.kubelet.version import KubeletVersion

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SUBJECT: Final = "API server"
OLDEST_KUBELET: Final = (1, 32)
ANOTHER_NODE: Final = "dra-nodeagent-check-of-another-node"


def verdicts(client: Client, config: Config) -> Iterator[Verdict]:
    """Ask the server; if it is not there, one line says so."""
    resources = Resources(client, driver=config.driver, node_name=config.node_name)
    try:
        version = resources.server_version()
        served = resources.version()
    except NotFoundError:
        yield fault(
            SUBJECT, f"serves {GROUP} in none of {', '.join(SPOKEN)}: Kubernetes 1.32 or later"
        )
        return
    except KubeError as error:
        yield fault(SUBJECT, str(error))
        return
    yield good(SUBJECT, f"{version.git_version} serves {GROUP}/{served}")
    yield from _rights(client, config, version)
    yield from _node(resources, config)
    yield from _admission(resources, config)


def _rights(client: Client, config: Config, version: ServerVersion) -> Iterator[Verdict]:
    rights = needed_rights(config, server=version.minor)
    try:
        refused = [str(right) for right in rights if not _may(client, right)]
    except (KubeError, FieldError) as error:
        yield unknown("rights", str(error))
        return
    if refused:
        yield fault("rights", f"not allowed: {'; '.join(refused)}")
    else:
        yield good("rights", f"all {len(rights)} that are needed")


def _may(client: Client, right: Right) -> bool:
    body: JsonObject = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": right.attributes()},
    }
    answer = client.request("POST", REVIEWS, body=body)
    return Fields(answer, "SelfSubjectAccessReview").object("status").flag("allowed")


def _node(resources: Resources, config: Config) -> Iterator[Verdict]:
    try:
        node = resources.node(config.node_name)
        kubelet = KubeletVersion.of(node)
    except NotFoundError:
        yield fault("Node", f"there is none named {config.node_name}: is --node-name right?")
        return
    except (KubeError, FieldError) as error:
        yield unknown("Node", str(error))
        return
    if kubelet.number is None:
        yield unknown("kubelet", f"its version is not known ({kubelet.text or 'not told yet'})")
    elif kubelet.number[:2] < OLDEST_KUBELET:
        yield fault("kubelet", f"{kubelet.text} is too old: 1.32 or later")
    elif kubelet.deadlocks_when_idle:
        yield fault(
            "kubelet",
            f"{kubelet.text} stops calling plugins after half an hour without pods, and they hang"
            " in ContainerCreating: upgrade to 1.34.2 or later",
        )
    else:
        yield good("kubelet", kubelet.text)


def _admission(resources: Resources, config: Config) -> Iterator[Verdict]:
    """Try to write another node's slice, by a dry run that stores nothing."""
    pool: JsonObject = {"name": ANOTHER_NODE, "generation": 1, "resourceSliceCount": 1}
    body: JsonObject = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": ANOTHER_NODE},
        "spec": {
            "driver": config.driver,
            "nodeName": ANOTHER_NODE,
            "pool": pool,
            "devices": [],
        },
    }
    subject = "admission"
    try:
        resources.try_slice(body)
    except ForbiddenError:
        yield good(subject, "slices of other nodes are refused")
    except StatusError as error:
        # A policy's refusal is one of validation (422); the object itself is valid.
        if "ValidatingAdmissionPolicy" in str(error):
            yield good(subject, "slices of other nodes are refused")
        else:
            yield unknown(subject, str(error))
    except KubeError as error:
        yield unknown(subject, str(error))
    else:
        yield warning(
            subject,
            "this agent could write the slices of any node: deploy/node-agent has a policy that"
            " confines it",
        )
