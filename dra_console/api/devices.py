"""Devices under `/api/v1/devices/`: what no single object of Kubernetes says about a device."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.allocator.model import Json
from dra_console.api.addresses import OF_DEVICE
from dra_console.api.device_details import DetailsAnswer, DetailsSerializer, details_answer
from dra_console.api.paging import page_of_items
from dra_console.api.queries import ListQuery, Parsed, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror import inventory
from dra_console.mirror.inventory import DeviceState, Holder
from dra_console.telemetry import store
from dra_console.telemetry.readings import DeviceKey, Reading

STATES = [state.value for state in inventory.State]
NOT_LISTED = "You may not list resourceslices, which publish devices."


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """A device as one reader may see it."""

    state: DeviceState
    holders: tuple[Holder, ...]
    hidden_holders: int
    reading: Reading | None
    details: DetailsAnswer | None = None


class TaintSerializer(serializers.Serializer[Any]):
    """One taint on a device."""

    key = serializers.CharField()
    value = serializers.CharField()
    effect = serializers.CharField()
    timeAdded = serializers.CharField(source="time_added")
    rule = serializers.CharField(help_text="DeviceTaintRule that adds it; empty: its driver.")


class HolderSerializer(serializers.Serializer[Any]):
    """A claim that holds a device, or watches it with admin access."""

    namespace = serializers.CharField(source="claim_namespace")
    name = serializers.CharField(source="claim_name")
    uid = serializers.CharField(source="claim_uid")
    request = serializers.CharField()
    shareID = serializers.CharField(source="share_id")
    adminAccess = serializers.BooleanField(source="admin_access")
    assignedAt = serializers.DateTimeField(source="assigned_at")


class ReadingSerializer(serializers.Serializer[Any]):
    """The latest reading; null where the board or its driver reports nothing."""

    takenAt = serializers.DateTimeField(source="taken_at")
    ageSeconds = serializers.SerializerMethodField()
    isStale = serializers.SerializerMethodField()
    utilisationPercent = serializers.IntegerField(source="utilisation_percent", allow_null=True)
    memoryUsedBytes = serializers.IntegerField(source="memory_used_bytes", allow_null=True)
    memoryTotalBytes = serializers.IntegerField(source="memory_total_bytes", allow_null=True)
    powerMilliwatts = serializers.IntegerField(source="power_milliwatts", allow_null=True)
    temperatureCelsius = serializers.IntegerField(source="temperature_celsius", allow_null=True)
    smClockMegahertz = serializers.IntegerField(source="sm_clock_megahertz", allow_null=True)
    health = serializers.CharField(allow_null=True)

    def get_ageSeconds(self, reading: Reading) -> float:
        """Say how long ago it came in."""
        now: datetime = self.context["now"]
        return round((now - reading.received_at).total_seconds(), 1)

    def get_isStale(self, reading: Reading) -> bool:
        """Say whether the agent has been silent for too long to trust it."""
        return reading.is_stale(self.context["now"])


class DeviceSerializer(serializers.Serializer[Any]):
    """One device of the newest generation of its pool."""

    driver = serializers.CharField(source="state.device.driver")
    pool = serializers.CharField(source="state.device.pool")
    device = serializers.CharField(source="state.device.name")
    node = serializers.CharField(
        source="state.device.node_name", help_text="Empty: not one node's."
    )
    model = serializers.CharField(
        source="state.device.product_name", help_text="Empty: not published."
    )
    memoryBytes = serializers.IntegerField(source="state.device.memory_bytes", allow_null=True)
    partitionOf = serializers.CharField(
        source="state.device.parent", help_text="GPU that it is a partition of; empty: none."
    )
    state = serializers.ChoiceField(choices=STATES, source="state.state")
    reason = serializers.CharField(source="state.reason", help_text="Empty when free or held.")
    blocked = serializers.BooleanField(
        source="state.is_blocked", help_text="Held partitions use up what it would need."
    )
    counted = serializers.BooleanField(
        source="state.counts", help_text="False: overlaps with devices that pools count."
    )
    attributes = serializers.DictField(
        child=serializers.JSONField(), source="state.device.attributes"
    )
    capacity = serializers.DictField(child=serializers.JSONField(), source="state.device.capacity")
    taints = TaintSerializer(many=True, source="state.taints")
    holders = HolderSerializer(many=True, help_text="Claims that you may list.")
    hiddenHolders = serializers.IntegerField(
        source="hidden_holders", help_text="Claims in namespaces that you may not list."
    )
    reading = ReadingSerializer(allow_null=True, help_text="Null: no agent has reported it.")


class DetailedDeviceSerializer(DeviceSerializer):
    """One device alone, with what its list leaves out."""

    details = DetailsSerializer(
        allow_null=True, help_text="Beyond the reading. Null: no agent has reported any."
    )


class DeviceQuery(ListQuery):
    """Filters of the list."""

    node = serializers.CharField(required=False, help_text="Name of its node.")
    driver = serializers.CharField(required=False, help_text="Name of its driver.")
    pool = serializers.CharField(required=False, help_text="Name of its pool.")
    model = serializers.CharField(required=False, help_text="Product name, as published.")
    state = serializers.ChoiceField(required=False, choices=STATES)
    namespace = serializers.CharField(
        required=False, help_text="Held by a claim in this namespace, if you may list it."
    )
    q = serializers.CharField(required=False, help_text="Part of device, node or model.")


class DeviceViewSet(ClusterViewSet):
    """Every device, its state, who holds it, and its latest reading."""

    mirrored_kinds = (RESOURCE_SLICES, RESOURCE_CLAIMS)
    item_class = DeviceSerializer
    lookup_pattern = OF_DEVICE
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "retrieve": DetailedDeviceSerializer
    }
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": DeviceQuery}

    def list(self, request: Request) -> Response:
        """List devices by driver, pool and name, a page at a time."""
        del request
        freshness = self.freshness()
        if not rules.may(self.account, self.cluster, "list", RESOURCE_SLICES):
            raise PermissionDenied(NOT_LISTED)
        readings = store.latest(self.cluster.pk)
        namespaces = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        answers = [
            _answer(state, namespaces=namespaces, readings=readings)
            for state in inventory.device_states(self.cluster)
        ]
        page = page_of_items(
            sorted((one for one in answers if _matches(one, self.query)), key=_key),
            key=_key,
            paging=self.paging(),
            shape=self._shape,
        )
        return self.answer(page.envelope(), freshness=freshness)

    def retrieve(self, request: Request, driver: str, pool: str, device: str) -> Response:
        """Read one device."""
        del request
        freshness = self.freshness()
        if not rules.may(self.account, self.cluster, "list", RESOURCE_SLICES):
            raise Http404
        states = inventory.device_states_of_pool(self.cluster, driver=driver, pool=pool)
        state = next((one for one in states if one.device.name == device), None)
        if state is None:
            raise Http404
        answer = _answer(
            state,
            namespaces=rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS),
            readings=store.latest(self.cluster.pk, {state.node_name}),
        )
        reported = store.details(self.cluster.pk, state.node_name, DeviceKey(*state.key))
        details = details_answer(
            reported, account=self.account, cluster=self.cluster, node_name=state.node_name
        )
        shaped: Json = DetailedDeviceSerializer(
            replace(answer, details=details), context={"now": timezone.now()}
        ).data
        return self.answer(shaped, freshness=freshness)

    def _shape(self, answer: DeviceAnswer) -> Json:
        shaped: Json = DeviceSerializer(answer, context={"now": timezone.now()}).data
        return shaped


def _answer(
    state: DeviceState,
    *,
    namespaces: Collection[str] | None,
    readings: Mapping[DeviceKey, Reading],
) -> DeviceAnswer:
    holders = tuple(
        holder
        for holder in state.holders
        if namespaces is None or holder.claim_namespace in namespaces
    )
    return DeviceAnswer(
        state=state,
        holders=holders,
        hidden_holders=len(state.holders) - len(holders),
        reading=readings.get(DeviceKey(*state.key)),
    )


def _matches(answer: DeviceAnswer, query: Parsed) -> bool:
    device = answer.state.device
    columns = {
        "node": device.node_name,
        "driver": device.driver,
        "pool": device.pool,
        "model": device.product_name,
        "state": answer.state.state,
    }
    if any(query[name] != value for name, value in columns.items() if name in query):
        return False
    if "namespace" in query and all(
        holder.claim_namespace != query["namespace"] for holder in answer.holders
    ):
        return False
    text = query.get("q", "").lower()
    return any(
        text in part.lower() for part in (device.name, device.node_name, device.product_name)
    )


def _key(answer: DeviceAnswer) -> tuple[str, ...]:
    return answer.state.key
