"""What the controllers of the embedded cluster read of a Pod."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject
from dra_console.devcluster.fields import inside

FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})
RESTARTS_ALWAYS: Final = "Always"
INIT_CONTAINERS: Final = "initContainers"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One entry of `spec.resourceClaims`: names a claim or a template."""

    name: str
    claim_name: str | None
    template_name: str | None


@dataclass(frozen=True, slots=True)
class ContainerClaim:
    """One entry of a container's `resources.claims`; no request = all requests."""

    name: str
    request: str | None


@dataclass(frozen=True, slots=True)
class Container:
    """A container as far as the simulation runs it."""

    name: str
    image: str
    command: tuple[str, ...]
    """`command` and `args` joined."""

    claims: tuple[ContainerClaim, ...]
    is_init: bool
    is_sidecar: bool
    """An init container with `restartPolicy: Always`, which runs beside the others."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A Pod; `node_name` is `None` until it is bound."""

    namespace: str
    name: str
    uid: str
    node_name: str | None
    phase: str
    is_deleting: bool
    restart_policy: str
    active_deadline_seconds: int | None
    claims: tuple[PodClaim, ...]
    claim_names: Mapping[str, str | None]
    """`status.resourceClaimStatuses`: claim by entry; `None` = no claim is needed for it."""

    init_containers: tuple[Container, ...]
    containers: tuple[Container, ...]

    @property
    def key(self) -> str:
        """Name the pod as messages do."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_finished(self) -> bool:
        return self.phase in FINISHED_PHASES

    @property
    def all_containers(self) -> tuple[Container, ...]:
        return self.init_containers + self.containers

    @property
    def may_use_claims(self) -> bool:
        """Tell whether the pod runs, or may still come to run.

        A pod that is deleted before it got a node never will; a bound one that is being
        deleted holds its devices until its containers have stopped.
        """
        return not self.is_finished and (self.node_name is not None or not self.is_deleting)

    @property
    def all_claim_names(self) -> frozenset[str]:
        """Name the claims that the pod names, or that were made for it."""
        named = {claim.claim_name for claim in self.claims} | set(self.claim_names.values())
        return frozenset(name for name in named if name is not None)

    def needs_no_claim(self, entry: str) -> bool:
        """Tell whether the status says that an entry is intentionally without a claim."""
        return entry in self.claim_names and self.claim_names[entry] is None

    @classmethod
    def read(cls, stored: JsonObject) -> Self:
        """Read a stored Pod.

        Raises:
            DecodeError: a field is not of its type.

        """
        metadata, spec = inside(stored, "metadata"), inside(stored, "spec")
        status = inside(stored, "status")
        return cls(
            namespace=metadata.text("namespace"),
            name=metadata.text("name"),
            uid=metadata.text("uid"),
            node_name=spec.text("nodeName") or None,
            phase=status.text("phase") or "Pending",
            is_deleting=metadata.has("deletionTimestamp"),
            restart_policy=spec.text("restartPolicy") or RESTARTS_ALWAYS,
            active_deadline_seconds=spec.integer("activeDeadlineSeconds"),
            claims=tuple(
                PodClaim(
                    name=claim.text("name"),
                    claim_name=claim.optional_text("resourceClaimName"),
                    template_name=claim.optional_text("resourceClaimTemplateName"),
                )
                for claim in spec.children("resourceClaims")
            ),
            claim_names={
                entry.text("name"): entry.optional_text("resourceClaimName")
                for entry in status.children("resourceClaimStatuses")
            },
            init_containers=tuple(_containers(spec, INIT_CONTAINERS)),
            containers=tuple(_containers(spec, "containers")),
        )


def _containers(spec: Fields, key: str) -> Iterator[Container]:
    for container in spec.children(key):
        resources = container.child("resources")
        yield Container(
            name=container.text("name"),
            image=container.text("image"),
            command=container.texts("command") + container.texts("args"),
            claims=tuple(
                ContainerClaim(name=claim.text("name"), request=claim.optional_text("request"))
                for claim in (resources.children("claims") if resources else ())
            ),
            is_init=key == INIT_CONTAINERS,
            is_sidecar=container.text("restartPolicy") == RESTARTS_ALWAYS,
        )
