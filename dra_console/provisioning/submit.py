"""Create and delete what the pages offer, as the person who asks.

The API server decides: it sees the person by impersonation. What it refuses comes back as
`Refused`, a value with the server's words and the fields it named, since a refusal is an
answer to show and not a fault. Every try is audited. Nothing is written to the mirror: the
watch brings the object.
"""

from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from dra_console.access.audit import Write, audited
from dra_console.access.errors import NoClusterIdentityError
from dra_console.access.rules import client_for
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.provisioning.checks import Finding
from dra_console.provisioning.form_fields import form_field_of
from dra_console.provisioning.snippet import pod
from dra_console.provisioning.template_parts import SERVER_SET

POD_PREFIX_BYTES: Final = 50
"""Leaves the server room for its five characters, and for claim names made from the pod's."""


@dataclass(frozen=True, slots=True)
class Created:
    """What the API server stored, or would store."""

    name: str
    stored: JsonObject


@dataclass(frozen=True, slots=True)
class Deleted:
    """The API server has accepted the deletion; finalizers may keep the object for a while."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The API server said no, or could not be asked."""

    message: str
    findings: tuple[Finding, ...] = ()
    """The fields that it named."""


def create_template(
    user: AbstractBaseUser, cluster: Cluster, manifest: JsonObject, *, dry_run: bool
) -> Created | Refused:
    """Create a ResourceClaimTemplate in the namespace that it names.

    Members of `metadata` that only an API server sets are left out, so that the manifest of
    an existing template makes a new one.
    """
    try:
        metadata = Fields.at("metadata", manifest.get("metadata"))
        namespace, name = metadata.text("namespace"), metadata.text("name")
    except DecodeError as error:
        return _refused_field(error.path, error.message)
    for path, value in (("metadata.namespace", namespace), ("metadata.name", name)):
        if not value:
            return _refused_field(path, "expected a name, got none")
    own = {key: value for key, value in metadata.raw.items() if key not in SERVER_SET}
    return _create(
        user,
        Write(cluster, "create", RESOURCE_CLAIM_TEMPLATES, namespace, name, dry_run),
        manifest | {"metadata": own},
    )


def start_test_pod(
    user: AbstractBaseUser, cluster: Cluster, namespace: str, template_name: str
) -> Created | Refused:
    """Start a pod that holds what the template asks for and does nothing with it."""
    prefix = f"{template_name[:POD_PREFIX_BYTES].rstrip('-.')}-test-"
    metadata: JsonObject = {"generateName": prefix, "namespace": namespace}
    return _create(
        user,
        Write(cluster, "create", PODS, namespace, prefix),
        pod(metadata, template_name=template_name),
    )


def delete_pod(
    user: AbstractBaseUser, cluster: Cluster, namespace: str, name: str
) -> Deleted | Refused:
    """Ask for a pod's deletion; its claims and devices go when it has ended."""
    return _delete(user, Write(cluster, "delete", PODS, namespace, name))


def delete_claim(
    user: AbstractBaseUser, cluster: Cluster, namespace: str, name: str
) -> Deleted | Refused:
    """Ask for a claim's deletion; it stays while a pod uses it."""
    return _delete(user, Write(cluster, "delete", RESOURCE_CLAIMS, namespace, name))


def delete_template(
    user: AbstractBaseUser, cluster: Cluster, namespace: str, name: str
) -> Deleted | Refused:
    """Delete a template; claims made from it stay."""
    return _delete(user, Write(cluster, "delete", RESOURCE_CLAIM_TEMPLATES, namespace, name))


def _create(user: AbstractBaseUser, write: Write, body: JsonObject) -> Created | Refused:
    try:
        client = client_for(user, write.cluster)
        with audited(user, write) as effect:
            stored = effect.after = client.create(
                write.kind, body, namespace=write.namespace, dry_run=write.dry_run
            )
    except (ApiError, NoClusterIdentityError) as error:
        return _refused(error, body=body)
    return Created(name=Fields.at("metadata", stored.get("metadata")).text("name"), stored=stored)


def _delete(user: AbstractBaseUser, write: Write) -> Deleted | Refused:
    try:
        client = client_for(user, write.cluster)
        with audited(user, write):
            client.delete(write.kind, write.name, namespace=write.namespace)
    except (ApiError, NoClusterIdentityError) as error:
        return _refused(error, body={})
    return Deleted()


def _refused(error: ApiError | NoClusterIdentityError, *, body: JsonObject) -> Refused:
    if not isinstance(error, ApiError):
        return Refused(str(error))
    return Refused(
        error.message,
        tuple(
            Finding(
                field=cause.field,
                form_field=form_field_of(cause.field, template=body),
                message=cause.message,
            )
            for cause in error.causes
        ),
    )


def _refused_field(path: str, message: str) -> Refused:
    finding = Finding(path, form_field_of(path, template={}), message)
    return Refused(f"{path}: {message}", (finding,))
