"""One agent as its own process, an API server beside it, and the kubelet's side of its sockets."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from dra_console.devcluster.proto import dra_v1_pb2 as dra
from dra_console.devcluster.proto import dra_v1beta1_pb2 as dra_beta
from dra_console.devcluster.proto import pluginregistration_pb2 as registration
from dra_console.kube.client import Client
from dra_console.kube.errors import ConflictError
from dra_console.kube.kinds import (
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from nodeagent.devices.mig import device_name
from nodeagent.devices.profiles import gpus
from nodeagent.fields import JsonObject
from nodeagent.kubelet.proto import health_v1_pb2 as health
from tests.builders.objects import (
    DRIVER,
    NAMESPACE,
    a_claim,
    a_namespace,
    a_node,
    a_pod,
    a_result,
    an_allocation,
)
from tests.integration.preloaded import PreloadedProcess

PATIENCE_SECONDS = 60
"""Processes start slowly where many do at once."""

CALL_SECONDS = 45
"""What kubelet gives a prepare."""

SERVERS_OWN = frozenset({"uid", "resourceVersion", "creationTimestamp"})
"""Metadata that builders fill in and an API server gives itself."""

Found = TypeVar("Found")
Answer = TypeVar("Answer", bound=Message)


def eventually(look: Callable[[], Found], *, seconds: float = PATIENCE_SECONDS) -> Found:
    """Look until something is found, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)


@dataclass(slots=True)
class ApiServer:
    """What users, schedulers and controllers do there."""

    client: Client

    def make_node(self, name: str, *, kubelet: str | None = None) -> None:
        """Create a Node, with what its kubelet says of its own version."""
        self._create(NODES, a_node(name))
        if kubelet is not None:
            node: Any = self.client.get(NODES, name)
            node["status"].setdefault("nodeInfo", {})["kubeletVersion"] = kubelet
            self.client.replace(NODES, node, subresource="status")

    def allocate(
        self, name: str, *devices: str, node: str, config: JsonObject | None = None
    ) -> JsonObject:
        """Create a claim with its pod, allocate devices of a node to it and reserve it."""
        self._create(NAMESPACES, a_namespace())
        pod = self._create(PODS, a_pod(f"{name}-pod"), namespace=NAMESPACE)
        claim = self._create(RESOURCE_CLAIMS, a_claim(name), namespace=NAMESPACE)
        assert pod is not None
        assert claim is not None
        results = [a_result(device, pool=node) for device in devices]
        metadata: Any = pod["metadata"]
        allocation: Any = an_allocation(*results, node=node)
        if config is not None:
            allocation["devices"]["config"] = [config]
        status: JsonObject = {
            "allocation": allocation,
            "reservedFor": [{"resource": "pods", "name": f"{name}-pod", "uid": metadata["uid"]}],
        }
        return self.client.replace(
            RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status"
        )

    def touch(self, claim: JsonObject) -> JsonObject:
        """Change a claim in a way that matters to nobody."""
        metadata: Any = claim["metadata"]
        return self.client.merge_patch(
            RESOURCE_CLAIMS,
            metadata["name"],
            {"metadata": {"annotations": {"touched": metadata["resourceVersion"]}}},
            namespace=metadata["namespace"],
        )

    def events_about(self, node: str) -> list[dict[str, Any]]:
        """Return the Events about a Node."""
        listed = self.client.list(EVENTS, field_selector=f"involvedObject.name={node}").items
        return [json.loads(json.dumps(item)) for item in listed]

    def slices(self, node: str, *, driver: str = DRIVER) -> list[dict[str, Any]]:
        selector = f"spec.nodeName={node},spec.driver={driver}"
        listed = self.client.list(RESOURCE_SLICES, field_selector=selector).items
        return [json.loads(json.dumps(item)) for item in listed]

    def has_whole_pool(self, node: str, *, driver: str = DRIVER) -> list[dict[str, Any]]:
        """Return the pool's slices if all of one generation are there."""
        slices = self.slices(node, driver=driver)
        pools = [slice_object["spec"]["pool"] for slice_object in slices]
        is_whole = bool(pools) and all(
            pool["generation"] == pools[0]["generation"]
            and pool["resourceSliceCount"] == len(pools)
            for pool in pools
        )
        return slices if is_whole else []

    def _create(
        self, kind: Kind, body: JsonObject, *, namespace: str | None = None
    ) -> JsonObject | None:
        metadata = body["metadata"]
        assert isinstance(metadata, dict)
        given: JsonObject = {
            name: value for name, value in metadata.items() if name not in SERVERS_OWN
        }
        try:
            return self.client.create(kind, {**body, "metadata": given}, namespace=namespace)
        except ConflictError:
            return None


@dataclass(slots=True)
class AgentProcess:
    """`python -m nodeagent` on one node's directories."""

    node: str
    kubelet_root: Path
    """Short enough for the unix sockets below it."""

    kubeconfig: Path
    profile: str | None = "h100x8"
    options: tuple[str, ...] = ()
    module: str = "nodeagent"
    is_preloaded: bool = False
    """Whether it is forked with its modules loaded, for whom neither imports nor memory matter."""

    environment: dict[str, str] = field(default_factory=dict)
    """What the process gets beside this one's own."""

    driver: str = DRIVER
    pod_uid: str | None = None
    """Of the agent's pod, where two agents share the node's directories."""

    process: subprocess.Popen[bytes] | PreloadedProcess = field(init=False)

    def __post_init__(self) -> None:
        (self.kubelet_root / "plugins_registry").mkdir(parents=True, exist_ok=True)

    @property
    def registration_socket(self) -> Path:
        pod = f"-{self.pod_uid}" if self.pod_uid else ""
        return self.kubelet_root / "plugins_registry" / f"{self.driver}{pod}-reg.sock"

    @property
    def dra_socket(self) -> Path:
        pod = f"-{self.pod_uid}" if self.pod_uid else ""
        return self.kubelet_root / "plugins" / self.driver / f"dra{pod}.sock"

    @property
    def checkpoint(self) -> Path:
        return self.kubelet_root / "plugins" / self.driver / "checkpoint.json"

    @property
    def cdi_directory(self) -> Path:
        return self.kubelet_root / "cdi"

    @property
    def log(self) -> Path:
        return self.kubelet_root / f"agent{self.pod_uid or ''}.log"

    def start(self) -> None:
        """Start the process; it may not serve yet."""
        arguments = [
            *("--node-name", self.node),
            *("--driver", self.driver),
            *("--kubelet-root", str(self.kubelet_root)),
            *("--cdi-dir", str(self.cdi_directory)),
            *("--kubeconfig", str(self.kubeconfig)),
            *(("--simulate", "--profile", self.profile) if self.profile else ()),
            *(("--pod-uid", self.pod_uid) if self.pod_uid else ()),
            *self.options,
        ]
        environment = {**os.environ, **self.environment}
        if self.is_preloaded:
            self.process = PreloadedProcess(
                self.module, arguments, log=self.log, environment=environment
            )
            return
        command = [sys.executable, "-m", self.module, *arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def wait_until_it_serves(self) -> None:
        """Wait for the registration socket of this process, not of one that was killed."""

        def answers() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(grpc.RpcError):
                return KubeletSide(self).info().name == self.driver
            return False

        eventually(answers)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the log lines of one event."""
        lines = self.log.read_text().splitlines()
        decoded: list[dict[str, Any]] = []
        for line in lines:
            with suppress(ValueError):
                decoded.append(json.loads(line))
        return [line for line in decoded if line.get("event") == event]

    def cdi_files(self) -> set[str]:
        """Return the UIDs of the claims that have a CDI file."""
        prefix = f"k8s.{self.driver}-claim_"
        return {
            path.stem.removeprefix(prefix) for path in self.cdi_directory.glob(f"{prefix}*.json")
        }

    def partitions(self) -> set[str]:
        """Return the devices whose partitions are on the simulated boards."""
        file = self.checkpoint.parent / "simulated-boards.json"
        boards = json.loads(file.read_text())["boards"] if file.exists() else {}
        there = {
            (gpu_uuid, one["profile_id"], one["start"])
            for gpu_uuid, board in boards.items()
            for one in board["instances"]
        }
        return {
            device_name(gpu.minor, partition)
            for gpu in gpus(self.profile or "", node_name=self.node)
            for partition in gpu.partitions
            if (gpu.uuid, partition.profile.id, partition.start) in there
        }

    def completed(self) -> dict[str, list[str]]:
        """Return the devices of each completed claim, as the checkpoint says."""
        claims = json.loads(self.checkpoint.read_text())["claims"]
        return {
            uid: [device["device"] for device in claim["devices"]]
            for uid, claim in claims.items()
            if claim["state"] == "completed"
        }


@dataclass(slots=True)
class KubeletSide:
    """Calls an agent as kubelet does, with messages generated from other files than its own."""

    agent: AgentProcess

    def info(self) -> registration.PluginInfo:
        return self._call(
            self.agent.registration_socket,
            "/pluginregistration.Registration/GetInfo",
            registration.InfoRequest(),
            registration.PluginInfo,
            seconds=1,
        )

    def notify(self, *, registered: bool, error: str = "") -> None:
        self._call(
            self.agent.registration_socket,
            "/pluginregistration.Registration/NotifyRegistrationStatus",
            registration.RegistrationStatus(plugin_registered=registered, error=error),
            registration.RegistrationStatusResponse,
            seconds=5,
        )

    def prepare(self, *claims: JsonObject) -> dict[str, dra.NodePrepareResourceResponse]:
        answer = self._call(
            self.agent.dra_socket,
            "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources",
            dra.NodePrepareResourcesRequest(claims=[reference_to(claim) for claim in claims]),
            dra.NodePrepareResourcesResponse,
        )
        return dict(answer.claims)

    def unprepare(self, *claims: JsonObject) -> dict[str, str]:
        answer = self._call(
            self.agent.dra_socket,
            "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources",
            dra.NodeUnprepareResourcesRequest(claims=[reference_to(claim) for claim in claims]),
            dra.NodeUnprepareResourcesResponse,
        )
        return {uid: claim.error for uid, claim in answer.claims.items()}

    def prepare_v1beta1(self, claim: JsonObject) -> dra_beta.NodePrepareResourcesResponse:
        reference = reference_to(claim)
        return self._call(
            self.agent.dra_socket,
            "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources",
            dra_beta.NodePrepareResourcesRequest(
                claims=[
                    dra_beta.Claim(
                        namespace=reference.namespace, uid=reference.uid, name=reference.name
                    )
                ]
            ),
            dra_beta.NodePrepareResourcesResponse,
        )

    def health(self) -> dict[str, health.DeviceHealth]:
        """Return what a new health stream says at once, by device name."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(f"unix:{self.agent.dra_socket}", options=options) as channel:
            watch = channel.unary_stream(
                "/v1.DRAResourceHealth/NodeWatchResources",
                request_serializer=health.NodeWatchResourcesRequest.SerializeToString,
                response_deserializer=health.NodeWatchResourcesResponse.FromString,
            )
            stream = watch(health.NodeWatchResourcesRequest(), timeout=CALL_SECONDS)
            said: health.NodeWatchResourcesResponse = next(iter(stream))
            return {one.device.device_name: one for one in said.devices}

    def _call(
        self,
        socket: Path,
        method: str,
        request: Message,
        answer: type[Answer],
        *,
        seconds: float = CALL_SECONDS,
    ) -> Answer:
        with grpc.insecure_channel(
            f"unix:{socket}", options=[("grpc.use_local_subchannel_pool", 1)]
        ) as channel:
            call = channel.unary_unary(
                method,
                request_serializer=type(request).SerializeToString,
                response_deserializer=answer.FromString,
            )
            answered: Answer = call(request, timeout=seconds)
            return answered


def uid_of(claim: JsonObject) -> str:
    """Return a claim's UID."""
    return reference_to(claim).uid


def reference_to(claim: JsonObject) -> dra.Claim:
    """Return a claim as kubelet names it to plugins."""
    metadata: Any = claim["metadata"]
    return dra.Claim(namespace=metadata["namespace"], uid=metadata["uid"], name=metadata["name"])
