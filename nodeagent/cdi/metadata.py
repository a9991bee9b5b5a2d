"""What a container may read about its devices: KEP-5304, and how the file gets in.

For each request of a claim there is one file, bound into the containers that use the request by a
CDI device of its own. It is a stream of JSON objects, the same facts once for each version of the
API, the newest first; a reader takes the first one that it knows.
"""

import json
from dataclasses import dataclass
from typing import Final, Self

from nodeagent.cdi.spec import ContainerEdits, Mount, compose
from nodeagent.fields import Fields, Json, JsonObject

GROUP: Final = "metadata.resource.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
"""Kubernetes 1.37 and 1.36; the newest first."""

KIND: Final = "DeviceMetadata"
CLASS: Final = "metadata"
CONTAINER_DIRECTORY: Final = "/var/run/kubernetes.io/dra-device-attributes"
MOUNT_OPTIONS: Final = ("ro", "bind")
SUBREQUEST_SEPARATOR: Final = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One request of a claim, and the devices that it was given."""

    claim_namespace: str
    claim_name: str
    claim_uid: str
    pod_claim_name: str | None
    """What the pod calls a claim that was made from a template."""

    request: str
    """`request`, or `request/subrequest`."""

    devices: tuple[JsonObject, ...]
    """Each with `driver`, `pool`, `name`, and `attributes` as in a ResourceSlice."""

    @property
    def main_request(self) -> str:
        """The request by which a container refers to it."""
        return self.request.partition(SUBREQUEST_SEPARATOR)[0]

    @classmethod
    def from_stream(cls, content: bytes) -> tuple[Self, int]:
        """Read a file of this agent back, with its generation.

        Raises:
            ValueError: it is not one.

        """
        written, _ = json.JSONDecoder().raw_decode(content.decode())
        fields = Fields.of(written, "")
        metadata = fields.object("metadata")
        requests = fields.objects("requests")
        if len(requests) != 1:
            raise ValueError(f"requests: expected one, got {len(requests)}")
        description = cls(
            claim_namespace=metadata.text("namespace"),
            claim_name=metadata.text("name"),
            claim_uid=metadata.text("uid"),
            pod_claim_name=fields.optional_text("podClaimName"),
            request=requests[0].text("name"),
            devices=tuple(device.value for device in requests[0].objects("devices")),
        )
        return description, metadata.optional_integer("generation") or 1

    def to_stream(self, *, generation: int) -> bytes:
        """Write it down for every reader; the generation grows with each change."""
        devices: list[Json] = list(self.devices)
        facts: JsonObject = {
            "metadata": {
                "name": self.claim_name,
                "namespace": self.claim_namespace,
                "uid": self.claim_uid,
                "generation": generation,
            },
            "requests": [{"name": self.request, "devices": devices}],
        }
        if self.pod_claim_name is not None:
            facts["podClaimName"] = self.pod_claim_name
        documents = (
            {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **facts} for version in VERSIONS
        )
        return b"".join(json.dumps(one, indent=2).encode() + b"\n" for one in documents)


def container_path(description: Description, *, driver: str) -> str:
    """Return where a container finds the file; claims of templates go by the pod's own name."""
    place = (
        f"resourceclaims/{description.claim_name}"
        if description.pod_claim_name is None
        else f"resourceclaimtemplates/{description.pod_claim_name}"
    )
    return f"{CONTAINER_DIRECTORY}/{place}/{description.main_request}/{driver}-metadata.json"


def metadata_device(claim_uid: str, main_request: str) -> str:
    """Name the CDI device that brings one request's file."""
    return f"{claim_uid}_{main_request}"


def metadata_id(driver: str, claim_uid: str, main_request: str) -> str:
    """Return what kubelet hands to the runtime."""
    return f"{driver}/{CLASS}={metadata_device(claim_uid, main_request)}"


def metadata_spec(description: Description, *, driver: str, host_path: str) -> JsonObject:
    """Compose the CDI file that binds one request's file into containers."""
    mount = Mount(host_path, container_path(description, driver=driver), MOUNT_OPTIONS)
    name = metadata_device(description.claim_uid, description.main_request)
    return compose(
        f"{driver}/{CLASS}",
        devices={name: ContainerEdits(mounts=(mount,))},
        common=ContainerEdits(),
    )
