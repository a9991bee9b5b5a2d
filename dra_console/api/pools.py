"""Pools under `/api/v1/pools/`: how much there is, and how much of it is free.

Everybody who is logged in may read these: counts, never names of claims (KEP-5677).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.allocator.model import Json
from dra_console.api.addresses import OF_POOL
from dra_console.api.paging import page_of_items
from dra_console.api.queries import ListQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.inventory import device_states, device_states_of_pools
from dra_console.mirror.models import Cluster
from dra_console.mirror.tallies import PoolNumbers, pool_numbers


class NumbersSerializer(serializers.Serializer[Any]):
    """Devices that can exist side by side: free + allocated + tainted + unavailable = total."""

    total = serializers.IntegerField()
    free = serializers.IntegerField()
    allocated = serializers.IntegerField(source="held")
    tainted = serializers.IntegerField()
    unavailable = serializers.IntegerField()


class CounterSerializer(serializers.Serializer[Any]):
    """One counter that partitions share, in Kubernetes' quantities."""

    counterSet = serializers.CharField(source="counter_set")
    counter = serializers.CharField()
    total = serializers.CharField()
    allocated = serializers.CharField(source="held")


class PoolSerializer(serializers.Serializer[Any]):
    """One pool of one driver."""

    driver = serializers.CharField()
    pool = serializers.CharField()
    node = serializers.CharField(source="node_name", help_text="Empty: not one node's.")
    generation = serializers.IntegerField()
    slicesSeen = serializers.IntegerField(source="slices_seen")
    slicesExpected = serializers.IntegerField(source="slices_expected")
    isLowerBound = serializers.BooleanField(
        source="is_lower_bound", help_text="Slices are missing: there may be more devices."
    )
    problem = serializers.CharField(help_text="Why none of it can be allocated; empty: nothing.")
    numbers = NumbersSerializer(source="tally")
    counters = CounterSerializer(many=True, help_text="What partitions draw on, exactly.")


class PoolQuery(ListQuery):
    """Filters of the list."""

    node = serializers.CharField(required=False, help_text="Name of its node.")
    driver = serializers.CharField(required=False, help_text="Name of its driver.")
    q = serializers.CharField(required=False, help_text="Part of its name.")


class PoolViewSet(ClusterViewSet):
    """Pools and what they hold."""

    mirrored_kinds = (RESOURCE_SLICES, RESOURCE_CLAIMS)
    item_class = PoolSerializer
    lookup_pattern = OF_POOL
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": PoolQuery}

    def list(self, request: Request) -> Response:
        """List pools by driver and name, a page at a time."""
        del request
        freshness = self.freshness()
        query = self.query
        pools = [
            numbers
            for numbers in _numbers(self.cluster)
            if query.get("node", numbers.node_name) == numbers.node_name
            and query.get("driver", numbers.driver) == numbers.driver
            and query.get("q", "").lower() in numbers.pool.lower()
        ]
        page = page_of_items(sorted(pools, key=_key), key=_key, paging=self.paging(), shape=_shape)
        return self.answer(page.envelope(), freshness=freshness)

    def retrieve(self, request: Request, driver: str, pool: str) -> Response:
        """Read one pool."""
        del request
        freshness = self.freshness()
        key = {(driver, pool)}
        states = device_states_of_pools(self.cluster, key)
        for numbers in pool_numbers(self.cluster, states=states, pools=key):
            return self.answer(_shape(numbers), freshness=freshness)
        raise Http404


def _numbers(cluster: Cluster) -> list[PoolNumbers]:
    return pool_numbers(cluster, states=device_states(cluster))


def _key(numbers: PoolNumbers) -> tuple[str, ...]:
    return (numbers.driver, numbers.pool)


def _shape(numbers: PoolNumbers) -> Json:
    shaped: Json = PoolSerializer(numbers).data
    return shaped
