"""Devices that are for the console alone: marked by a taint that only its plans put up with.

The mark is a DeviceTaintRule (KEP-5055) with `MANAGED_TAINT_KEY` and effect NoSchedule, so
any scheduler that honours taints passes such devices over. What is held when the mark comes
stays held: NoSchedule evicts nobody. A rule is written as the person who asks, after they saw
whom it concerns; if that changed meanwhile, nothing is written.

A rule names a driver, a pool and a device, or fewer of them. Selection by class and by
expression existed in an alpha only; the API took it back in 1.35.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from dra_console.access.audit import Write, audited
from dra_console.access.errors import NoClusterIdentityError
from dra_console.access.rules import client_for
from dra_console.allocator.api_json import object_of, without_unset
from dra_console.allocator.inventory import NO_SCHEDULE
from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ConflictError, NotFoundError
from dra_console.kube.kinds import DEVICE_TAINT_RULES
from dra_console.mirror.models import (
    Cluster,
    Cursor,
    Device,
    DeviceAssignment,
    DeviceTaintRule,
)
from dra_console.scheduling.names import MANAGED_TAINT_KEY

NAME_PREFIX: Final = "dra-console-managed-"
NOT_SERVED: Final = (
    "This cluster serves no DeviceTaintRule, so devices cannot be marked. It is served since"
    " Kubernetes 1.37, and before that where feature gate DRADeviceTaintRules and its API"
    " version are on."
)


@dataclass(frozen=True, slots=True)
class DeviceSelector:
    """Which devices a rule marks: all that agree with the names that are not empty."""

    driver: str = ""
    pool: str = ""
    device: str = ""

    @property
    def is_empty(self) -> bool:
        """Tell whether it would mark every device of the cluster."""
        return not (self.driver or self.pool or self.device)

    def to_json(self) -> JsonObject:
        """Write `spec.deviceSelector`."""
        return without_unset({"driver": self.driver, "pool": self.pool, "device": self.device})

    def __str__(self) -> str:
        parts = (("driver", self.driver), ("pool", self.pool), ("device", self.device))
        return ", ".join(f"{name} {value}" for name, value in parts if value) or "every device"


@dataclass(frozen=True, slots=True)
class Holding:
    """A claim that holds a device which a rule marks."""

    namespace: str
    claim: str
    device: str
    """`driver/pool/device`."""


@dataclass(frozen=True, slots=True)
class Concerned:
    """Whom a rule concerns now."""

    devices: int
    holdings: tuple[Holding, ...]
    """Exclusive uses and shares; who only watches (admin access) holds nothing."""

    digest: str
    """Equal as long as it is the same devices and claims."""


@dataclass(frozen=True, slots=True)
class ManagedRule:
    """One rule that marks devices, as it was mirrored."""

    name: str
    selector: DeviceSelector
    effect: str
    resource_version: str
    concerned: Concerned


class Why(StrEnum):
    """Why a rule was not written or removed."""

    EMPTY = "empty-selector"
    NOT_SERVED = "not-served"
    CHANGED = "changed-since"
    GONE = "gone"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Marked:
    """The rule as it is stored."""

    name: str
    rule: JsonObject


@dataclass(frozen=True, slots=True)
class NotDone:
    """Nothing was written."""

    why: Why
    message: str


def is_served(cluster: Cluster) -> bool | None:
    """Tell whether the cluster serves DeviceTaintRules; None: not known yet."""
    cursor = Cursor.objects.filter(cluster=cluster, plural=DEVICE_TAINT_RULES.plural).first()
    if cursor is None or (cursor.served and cursor.listed_at is None):
        return None
    return cursor.served


def managed_rules(cluster: Cluster) -> list[ManagedRule]:
    """List the rules that mark devices, by name, with whom each concerns."""
    rules = []
    for row in DeviceTaintRule.objects.filter(cluster=cluster):
        spec = object_of(row.raw.get("spec"))
        taint = object_of(spec.get("taint"))
        if taint.get("key") != MANAGED_TAINT_KEY:
            continue
        given = object_of(spec.get("deviceSelector"))
        selector = DeviceSelector(
            *(str(given.get(name) or "") for name in ("driver", "pool", "device"))
        )
        rules.append(
            ManagedRule(
                name=row.name,
                selector=selector,
                effect=str(taint.get("effect", "")),
                resource_version=row.resource_version,
                concerned=concerned_by(cluster, selector),
            )
        )
    return rules


def concerned_by(cluster: Cluster, selector: DeviceSelector) -> Concerned:
    """Say which devices a selector covers now, and who holds them."""
    names = {"driver": selector.driver, "pool": selector.pool}
    given = {name: value for name, value in names.items() if value}
    published = Device.objects.filter(cluster=cluster, **given).order_by()
    held = DeviceAssignment.objects.filter(
        cluster=cluster, released_at=None, admin_access=False, **given
    )
    if selector.device:
        published = published.filter(name=selector.device)
        held = held.filter(device=selector.device)
    devices = sorted(set(published.values_list("driver", "pool", "name")))
    holdings = sorted(
        held.order_by().values_list(
            "claim_namespace", "claim_name", "driver", "pool", "device", "claim_uid"
        )
    )
    digest = hashlib.sha256(json.dumps([devices, holdings]).encode()).hexdigest()
    return Concerned(
        devices=len(devices),
        holdings=tuple(
            Holding(namespace, claim, f"{driver}/{pool}/{device}")
            for namespace, claim, driver, pool, device, _ in holdings
        ),
        digest=digest,
    )


def visible(
    holdings: Sequence[Holding], *, namespaces: Collection[str] | None
) -> tuple[list[Holding], int]:
    """Part holdings into those that a reader may see, and the number of the others."""
    seen = [one for one in holdings if namespaces is None or one.namespace in namespaces]
    return seen, len(holdings) - len(seen)


def mark(
    user: AbstractBaseUser, cluster: Cluster, selector: DeviceSelector, *, seen_digest: str
) -> Marked | NotDone:
    """Write a rule that marks these devices, if it concerns whom the person was shown."""
    if selector.is_empty:
        return NotDone(
            Why.EMPTY, "Name a driver, a pool or a device: an empty selector marks every device."
        )
    if concerned_by(cluster, selector).digest != seen_digest:
        return NotDone(
            Why.CHANGED, "Devices or their holders have changed since you looked; look again."
        )
    rule: JsonObject = {
        "apiVersion": DEVICE_TAINT_RULES.api_version,
        "kind": DEVICE_TAINT_RULES.kind,
        "metadata": {"generateName": NAME_PREFIX},
        "spec": {
            "deviceSelector": selector.to_json(),
            "taint": {"key": MANAGED_TAINT_KEY, "effect": NO_SCHEDULE},
        },
    }
    write = Write(cluster, "create", DEVICE_TAINT_RULES, namespace="", name=NAME_PREFIX)
    try:
        client = client_for(user, cluster)
        with audited(user, write) as effect:
            stored = effect.after = client.create(DEVICE_TAINT_RULES, rule)
    except NotFoundError as error:
        return NotDone(Why.NOT_SERVED, f"{NOT_SERVED} ({error})")
    except (ApiError, NoClusterIdentityError) as error:
        return NotDone(Why.REFUSED, str(error))
    return Marked(str(object_of(stored.get("metadata")).get("name", "")), stored)


def unmark(
    user: AbstractBaseUser, cluster: Cluster, name: str, *, resource_version: str
) -> Marked | NotDone:
    """Remove the rule of this name and version; other rules than those of marks are left alone."""
    row = DeviceTaintRule.objects.filter(cluster=cluster, name=name).first()
    taint = object_of(object_of(row.raw.get("spec")).get("taint")) if row else {}
    if row is None or taint.get("key") != MANAGED_TAINT_KEY:
        return NotDone(Why.GONE, f"No rule that marks managed devices is called {name}.")
    write = Write(cluster, "delete", DEVICE_TAINT_RULES, namespace="", name=name)
    try:
        client = client_for(user, cluster)
        with audited(user, write) as effect:
            effect.before = row.raw
            client.delete(DEVICE_TAINT_RULES, name, uid=row.uid, resource_version=resource_version)
    except NotFoundError:
        return NotDone(Why.GONE, f"Rule {name} is gone already.")
    except ConflictError:
        return NotDone(Why.CHANGED, f"Rule {name} has changed since you looked; look again.")
    except (ApiError, NoClusterIdentityError) as error:
        return NotDone(Why.REFUSED, str(error))
    return Marked(name, row.raw)
