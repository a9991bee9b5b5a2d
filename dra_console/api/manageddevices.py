"""Managed devices under `/api/v1/manageddevices/`: rules that mark what is the console's alone."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.allocator.model import Json, JsonObject
from dra_console.api.paging import page_of_items
from dra_console.api.problems import Problem
from dra_console.api.queries import ClusterQuery, ListQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.scheduling.coexistence.managed_devices import (
    NOT_SERVED,
    Concerned,
    DeviceSelector,
    ManagedRule,
    NotDone,
    Why,
    concerned_by,
    is_served,
    managed_rules,
    mark,
    unmark,
    visible,
)

STATUSES = {
    Why.EMPTY: HTTPStatus.UNPROCESSABLE_ENTITY,
    Why.NOT_SERVED: HTTPStatus.CONFLICT,
    Why.CHANGED: HTTPStatus.PRECONDITION_FAILED,
    Why.GONE: HTTPStatus.NOT_FOUND,
    Why.REFUSED: HTTPStatus.FORBIDDEN,
}


class HoldingSerializer(serializers.Serializer[Any]):
    """A claim that holds one of the devices."""

    namespace = serializers.CharField()
    claim = serializers.CharField()
    device = serializers.CharField(help_text="`driver/pool/device`.")


class ConcernedSerializer(serializers.Serializer[Any]):
    """Whom a selector concerns now."""

    devices = serializers.IntegerField()
    holdings = HoldingSerializer(many=True, help_text="Of claims that you may list.")
    hiddenHoldings = serializers.IntegerField(help_text="Of claims that you may not list.")
    digest = serializers.CharField(
        help_text="Equal as long as it is the same devices and claims; send it to mark them."
    )


class SelectorSerializer(serializers.Serializer[Any]):
    """Which devices: all that agree with the names that are given."""

    driver = serializers.CharField(required=False, default="", allow_blank=True, max_length=63)
    pool = serializers.CharField(required=False, default="", allow_blank=True, max_length=253)
    device = serializers.CharField(required=False, default="", allow_blank=True, max_length=63)


class ManagedDevicesSerializer(SelectorSerializer):
    """A DeviceTaintRule with taint `dra-console.io/managed`; to create one, what it selects."""

    name = serializers.CharField(read_only=True)
    effect = serializers.CharField(read_only=True)
    resourceVersion = serializers.CharField(read_only=True)
    concerned = ConcernedSerializer(read_only=True)
    digest = serializers.CharField(write_only=True, help_text="As `preview` answered it.")


class SelectorQuery(ClusterQuery):
    """Which devices would be marked."""

    driver = serializers.CharField(required=False, default="", max_length=63)
    pool = serializers.CharField(required=False, default="", max_length=253)
    device = serializers.CharField(required=False, default="", max_length=63)


class ManagedDevicesViewSet(ClusterViewSet):
    """Rules that keep devices for the console: other schedulers pass them over."""

    mirrored_kinds = (DEVICE_TAINT_RULES,)
    item_class = ManagedDevicesSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {
        "list": ListQuery,
        "preview": SelectorQuery,
    }
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "preview": ConcernedSerializer
    }

    def list(self, request: Request) -> Response:
        """List the rules by name."""
        del request
        self._require_list()
        page = page_of_items(
            sorted(managed_rules(self.cluster), key=_key),
            key=_key,
            paging=self.paging(),
            shape=self._shape,
        )
        return Response(page.envelope())

    @action(detail=False)
    def preview(self, request: Request) -> Response:
        """Say which devices a selector covers now, and which claims hold them."""
        del request
        self._require_list()
        selector = DeviceSelector(*(self.query[name] for name in ("driver", "pool", "device")))
        return Response(self._concerned(concerned_by(self.cluster, selector)))

    def create(self, request: Request) -> Response:
        """Mark devices, as yourself; what is held by others stays held until it is released."""
        given = ManagedDevicesSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        names = given.validated_data
        selector = DeviceSelector(*(names[name] for name in ("driver", "pool", "device")))
        outcome = mark(self.account, self.cluster, selector, seen_digest=names["digest"])
        if isinstance(outcome, NotDone):
            raise _problem(outcome)
        metadata = outcome.rule.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else ""
        rule = ManagedRule(
            outcome.name, selector, "NoSchedule", str(version), concerned_by(self.cluster, selector)
        )
        return Response(self._shape(rule), status=HTTPStatus.CREATED)

    def destroy(self, request: Request, name: str) -> Response:
        """Remove a rule, so that every scheduler gives its devices away again."""
        version = request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
        if not version:
            raise Problem(
                HTTPStatus.PRECONDITION_REQUIRED,
                "precondition-required",
                "Send If-Match with the rule's resourceVersion.",
            )
        outcome = unmark(self.account, self.cluster, name, resource_version=version)
        if isinstance(outcome, NotDone):
            raise _problem(outcome)
        return Response(status=HTTPStatus.ACCEPTED)

    def _require_list(self) -> None:
        for kind in (DEVICE_TAINT_RULES, RESOURCE_SLICES):
            if not rules.may(self.account, self.cluster, "list", kind):
                raise PermissionDenied(f"You may not list {kind.plural}.")
        if is_served(self.cluster) is False:
            raise Problem(HTTPStatus.CONFLICT, Why.NOT_SERVED.value, NOT_SERVED)

    def _concerned(self, concerned: Concerned) -> JsonObject:
        namespaces = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        seen, hidden = visible(concerned.holdings, namespaces=namespaces)
        return {
            "devices": concerned.devices,
            "holdings": [
                {"namespace": one.namespace, "claim": one.claim, "device": one.device}
                for one in seen
            ],
            "hiddenHoldings": hidden,
            "digest": concerned.digest,
        }

    def _shape(self, rule: ManagedRule) -> Json:
        return {
            "name": rule.name,
            "driver": rule.selector.driver,
            "pool": rule.selector.pool,
            "device": rule.selector.device,
            "effect": rule.effect,
            "resourceVersion": rule.resource_version,
            "concerned": self._concerned(rule.concerned),
        }


def _problem(outcome: NotDone) -> Problem:
    return Problem(STATUSES[outcome.why], outcome.why.value, outcome.message)


def _key(rule: ManagedRule) -> tuple[str, ...]:
    return (rule.name,)
