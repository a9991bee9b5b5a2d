"""Addresses under `/api/`."""

from django.urls import include, path, re_path

from dra_console.api.addresses import ConsoleRouter
from dra_console.api.attempts import AttemptViewSet
from dra_console.api.clusters import ClustersViewSet
from dra_console.api.conflicts import ConflictViewSet
from dra_console.api.deviceclasses import DeviceClassViewSet
from dra_console.api.devices import DeviceViewSet
from dra_console.api.document import DocumentView, viewer
from dra_console.api.manageddevices import ManagedDevicesViewSet
from dra_console.api.nodes import NodeViewSet
from dra_console.api.nowhere import NowhereView
from dra_console.api.objectproblems import ObjectProblemViewSet
from dra_console.api.pools import PoolViewSet
from dra_console.api.queue import QueueViewSet
from dra_console.api.resourceclaims import ResourceClaimViewSet
from dra_console.api.resourceclaimtemplates import ResourceClaimTemplateViewSet
from dra_console.api.resourceslices import ResourceSliceViewSet
from dra_console.api.waitinggroups import WaitingGroupViewSet
from dra_console.api.whatif import WhatIfViewSet

app_name = "api"

router = ConsoleRouter()
for plural, viewset in {
    "attempts": AttemptViewSet,
    "clusters": ClustersViewSet,
    "conflicts": ConflictViewSet,
    "deviceclasses": DeviceClassViewSet,
    "devices": DeviceViewSet,
    "manageddevices": ManagedDevicesViewSet,
    "nodes": NodeViewSet,
    "objectproblems": ObjectProblemViewSet,
    "pools": PoolViewSet,
    "queue": QueueViewSet,
    "resourceclaims": ResourceClaimViewSet,
    "resourceclaimtemplates": ResourceClaimTemplateViewSet,
    "resourceslices": ResourceSliceViewSet,
    "whatif": WhatIfViewSet,
    "waitinggroups": WaitingGroupViewSet,
}.items():
    router.register(plural, viewset, basename=plural)

urlpatterns = [
    path("v1/", include(router.urls)),
    path("schema/", DocumentView.as_view(), name="schema"),
    path("docs/", viewer, name="docs"),
    re_path(r"", NowhereView.as_view()),
]
