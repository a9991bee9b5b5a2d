"""The objects that the plan writes, each made from a number: valid, small, and varied."""

import random
import uuid
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_node_selector,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    a_template,
    a_wish,
    unborn,
)

NAMESPACES: Final = ("team-a", "team-b", "team-c")
CLAIM_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
WORDS: Final = ("amber", "birch", "cobalt", "größe", "日本")


def namespace_of(number: int) -> str:
    return NAMESPACES[number % len(NAMESPACES)]


def name_of(plural: str, number: int) -> str:
    # With the characters that databases sort in one way and Python in another.
    separator = "-." if plural != "namespaces" else "--"
    return f"{plural[:6]}{separator[number % 2]}{number}"


def driver_of(number: int) -> str:
    return ("gpu.nvidia.com", "nic.example.com")[number % 2]


def pool_of(number: int) -> str:
    """Four slices share a pool, so that generations and counts matter."""
    return f"pool-{number // 4}"


def new_object(plural: str, number: int, dice: random.Random, *, pod_uid: str) -> JsonObject:
    """Make an object to be created; `pod_uid` is that of the pod with the same number, if any."""
    name, namespace = name_of(plural, number), namespace_of(number)
    match plural:
        case "namespaces":
            body: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        case "nodes":
            body = a_node(name)
        case "deviceclasses":
            body = a_class(name)
        case "resourceslices":
            body = _slice(name, number, dice)
        case "devicetaintrules":
            body = a_taint_rule(name, taint=_taint(dice), driver=driver_of(number))
        case "resourceclaimtemplates":
            body = a_template(name, namespace=namespace)
        case "pods":
            body = _pod(name, number)
        case "resourceclaims":
            body = _claim(name, number, dice, pod_uid=pod_uid)
        case _:
            body = {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"hard": {"count/pods": str(dice.randrange(100))}},
            }
    body = unborn(body)
    _metadata(body)["labels"] = {"round": str(dice.randrange(1000))}
    _metadata(body)["annotations"] = {
        **_map(_metadata(body).get("annotations")),
        "example.com/word": dice.choice(WORDS),
    }
    return body


def change(plural: str, number: int, dice: random.Random) -> JsonObject:
    """Make a merge patch of labels, and of what may change of the spec."""
    patch: JsonObject = {"metadata": {"labels": {"round": str(dice.randrange(1000))}}}
    match plural:
        case "deviceclasses":
            model = dice.choice(("H100", "A100"))
            expression = f'device.attributes["gpu.nvidia.com"].productName == "{model}"'
            patch["spec"] = {"selectors": [{"cel": {"expression": expression}}]}
        case "resourceslices":
            spec = _slice("changed", number, dice)["spec"]
            assert isinstance(spec, dict)
            patch["spec"] = {"pool": spec["pool"], "devices": spec["devices"]}
        case "devicetaintrules":
            patch["spec"] = {"taint": _taint(dice)}
        case "nodes":
            patch["spec"] = {"unschedulable": dice.random() < 0.5}
        case "resourcequotas":
            patch["spec"] = {"hard": {"count/pods": str(dice.randrange(100))}}
    return patch


def node_status(dice: random.Random) -> JsonObject:
    ready = dice.choice(("True", "False", "Unknown"))
    return {"status": {"conditions": [{"type": "Ready", "status": ready, "reason": "Dice"}]}}


def pod_status(number: int, dice: random.Random) -> JsonObject:
    status: JsonObject = {"phase": dice.choice(("Pending", "Running"))}
    if number % 4 in {0, 2}:
        claim = name_of("resourceclaims", number)
        status["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim}]
    return {"status": status}


def allocation(number: int, dice: random.Random) -> JsonObject:
    """Make `status` of a claim that got one or two devices, of which some are shared."""
    results: list[JsonObject] = []
    for index in range(dice.randrange(1, 3)):
        shared: JsonObject = {}
        if dice.random() < 0.4:
            shared = {
                "shareID": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
                "consumedCapacity": {"memory": f"{dice.randrange(1, 9)}Gi"},
            }
        elif dice.random() < 0.2:
            shared = {"adminAccess": True}
        device = f"gpu-{dice.randrange(3)}"
        pool = pool_of(dice.randrange(160))
        results.append(
            a_result(device, request=f"gpu-{index}", driver=driver_of(number), pool=pool, **shared)
        )
    held: JsonObject = {"devices": {"results": [*results]}}
    if dice.random() < 0.5:
        held["nodeSelector"] = a_node_selector(name_of("nodes", dice.randrange(30)))
    if dice.random() < 0.5:
        held["allocationTimestamp"] = f"2026-11-30T0{dice.randrange(3)}:00:00Z"
    return {"status": {"allocation": held}}


def reservation(number: int, dice: random.Random) -> JsonObject:
    pod: JsonObject = {
        "resource": "pods",
        "name": name_of("pods", number),
        "uid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
    }
    return {"status": {"reservedFor": [pod]}}


def _slice(name: str, number: int, dice: random.Random) -> JsonObject:
    devices = [
        a_device(
            f"gpu-{number % 4}-{index}",
            memory=dice.choice(("80Gi", "0.5", "1e3", None)),
            attributes={"productName": dice.choice(("H100", "A100"))},
            taints=[_taint(dice)] if dice.random() < 0.2 else None,
        )
        for index in range(dice.randrange(4))
    ]
    return a_slice(
        name,
        node=None,
        pool=pool_of(number),
        driver=driver_of(number // 4),
        devices=devices,
        generation=dice.randrange(1, 4),
        slice_count=dice.randrange(1, 5),
        allNodes=True,
    )


def _claim(name: str, number: int, dice: random.Random, *, pod_uid: str) -> JsonObject:
    requests = [a_request(f"gpu-{index}") for index in range(2)]
    if dice.random() < 0.3:
        requests = [
            {"name": f"gpu-{index}", "firstAvailable": [{"name": "big", **a_wish()}]}
            for index in range(2)
        ]
    claim = unborn(a_claim(name, namespace=namespace_of(number), requests=requests))
    metadata = _metadata(claim)
    metadata["finalizers"] = [CLAIM_FINALIZER]
    if pod_uid:
        metadata["annotations"] = {POD_CLAIM_NAME: "gpu"}
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": name_of("pods", number), "uid": pod_uid}
        ]
    return claim


def _pod(name: str, number: int) -> JsonObject:
    """Make a pod with a template's claim, a claim of its own, or none; the last is not mirrored."""
    claim, template = None, None
    if number % 4 in {0, 2}:
        template = name_of("resourceclaimtemplates", number % 24)
    elif number % 4 == 1:
        claim = name_of("resourceclaims", number)
    return a_pod(name, namespace=namespace_of(number), claim=claim, template=template)


def _taint(dice: random.Random) -> JsonObject:
    return a_taint(value=str(dice.randrange(100)), effect=dice.choice(("NoSchedule", "NoExecute")))


def _metadata(body: JsonObject) -> JsonObject:
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def _map(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
