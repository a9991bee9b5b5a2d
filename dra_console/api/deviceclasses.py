"""DeviceClasses under `/api/v1/deviceclasses/`."""

from collections.abc import Mapping
from typing import ClassVar

from dra_console.api.queries import LabelledQuery, Query
from dra_console.api.shapes import KubernetesObjectSerializer
from dra_console.api.viewsets import MirroredKindViewSet
from dra_console.kube.kinds import DEVICE_CLASSES
from dra_console.mirror.models import DeviceClass


class DeviceClassSerializer(KubernetesObjectSerializer):
    """A DeviceClass (resource.k8s.io/v1)."""


class DeviceClassViewSet(MirroredKindViewSet[DeviceClass]):
    """What claims can ask for by name."""

    kind = DEVICE_CLASSES
    mirrored_kinds = (DEVICE_CLASSES,)
    model = DeviceClass
    item_class = DeviceClassSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": LabelledQuery}
