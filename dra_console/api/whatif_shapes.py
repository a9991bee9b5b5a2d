"""The shape of a scenario and of its answer, for the OpenAPI document.

Scenarios are read by `scheduling.whatif.decoding`, answers written by `scheduling.whatif.report`.
"""

from typing import Any

from rest_framework import serializers

from dra_console.scheduling.whatif.decoding import MOST_EDITS, READERS
from dra_console.scheduling.whatif.fragments import MOST_SHAPES
from dra_console.scheduling.whatif.hits import Fate


class NamedSerializer(serializers.Serializer[Any]):
    """An object in a namespace."""

    namespace = serializers.CharField()
    name = serializers.CharField()


class ClaimSourceSerializer(serializers.Serializer[Any]):
    """One claim of a pod: exactly one of `template`, `claim` and `spec`."""

    template = NamedSerializer(required=False)
    claim = NamedSerializer(required=False)
    spec = serializers.JSONField(
        required=False, help_text="ResourceClaimSpec (resource.k8s.io/v1)."
    )
    patch = serializers.JSONField(
        required=False, help_text="JSON patch (RFC 6902), as `suggestions` have it."
    )


class PodShapeSerializer(serializers.Serializer[Any]):
    """The claims of one pod, allocated together on one node."""

    claims = ClaimSourceSerializer(many=True)


class DeviceSelectionSerializer(serializers.Serializer[Any]):
    """Devices that agree with all names that are given."""

    driver = serializers.CharField(required=False)
    pool = serializers.CharField(required=False)
    device = serializers.CharField(required=False)
    node = serializers.CharField(required=False)


class EditSerializer(serializers.Serializer[Any]):
    """One edit; which further members it has depends on its type."""

    type = serializers.ChoiceField(choices=list(READERS))
    like = serializers.CharField(required=False, help_text="addNodes: the node to copy.")
    count = serializers.IntegerField(required=False, help_text="addNodes, addPods.")
    node = serializers.CharField(required=False, help_text="removeNode, drainNode.")
    devices = DeviceSelectionSerializer(required=False, help_text="taint; untaint, if narrower.")
    key = serializers.CharField(required=False, help_text="taint, untaint.")
    value = serializers.CharField(required=False, help_text="taint.")
    effect = serializers.CharField(required=False, help_text="taint; untaint, if one alone.")
    namespace = serializers.CharField(required=False, help_text="freeClaim.")
    name = serializers.CharField(required=False, help_text="freeClaim.")
    holding = DeviceSelectionSerializer(
        required=False, help_text="freeClaim, instead of a name: a device that it holds."
    )
    pod = PodShapeSerializer(required=False, help_text="addPods.")
    deviceClass = serializers.CharField(required=False, help_text="setClassSelectors.")
    selectors = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="setClassSelectors: CEL."
    )


class ScenarioSerializer(serializers.Serializer[Any]):
    """A state, what is changed about it, and the pod that is asked about."""

    edits = EditSerializer(
        many=True, required=False, help_text=f"In their order, at most {MOST_EDITS}."
    )
    pod = PodShapeSerializer(required=False)
    snapshot = serializers.CharField(
        required=False, help_text="Of an answer; without it, the state of now."
    )


class SnapshotSerializer(serializers.Serializer[Any]):
    """The state that was asked about."""

    id = serializers.CharField(help_text="Equal states have equal ids.")
    readAt = serializers.DateTimeField()
    isCurrent = serializers.BooleanField(help_text="false: the cluster has moved on since.")
    isSubstitute = serializers.BooleanField(
        help_text="true: the wanted state is no longer kept, this is the one of now."
    )


class PlacesSerializer(serializers.Serializer[Any]):
    """Nodes that take equally many pods."""

    each = serializers.IntegerField()
    nodes = serializers.ListField(child=serializers.CharField(), help_text="The first ones.")
    nodeCount = serializers.IntegerField()


class OneMoreSerializer(serializers.Serializer[Any]):
    """What stands against one pod more."""

    outcome = serializers.CharField()
    headline = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    funnel = serializers.DictField(child=serializers.IntegerField())
    suggestions = serializers.JSONField(help_text="As in an explanation; where no pod fits.")


class FitSerializer(serializers.Serializer[Any]):
    """How many pods fit one after another, and where."""

    count = serializers.IntegerField()
    isLowerBound = serializers.BooleanField(help_text="true: more may fit than were found.")
    places = PlacesSerializer(many=True)
    oneMore = OneMoreSerializer(allow_null=True)


class AddedSerializer(serializers.Serializer[Any]):
    """Where pods went that the scenario adds."""

    wanted = serializers.IntegerField()
    count = serializers.IntegerField()
    places = PlacesSerializer(many=True)
    stopped = serializers.CharField(help_text="Why the rest found no place.", allow_blank=True)


class ImpactSerializer(serializers.Serializer[Any]):
    """Whom an edit hits."""

    devices = serializers.IntegerField(help_text="That the edit is about.")
    evictedPods = serializers.IntegerField()
    fates = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"Claims by what becomes of them: {', '.join(Fate)}.",
    )
    namespaces = serializers.JSONField(help_text="`namespace: null`: those that you may not see.")
    claims = serializers.JSONField(help_text="Those that you may see, highest priority first.")
    moreClaims = serializers.IntegerField()


class EffectSerializer(serializers.Serializer[Any]):
    """An edit and what it does at once."""

    edit = EditSerializer()
    impact = ImpactSerializer()
    added = AddedSerializer(allow_null=True)


class FragmentsSerializer(serializers.Serializer[Any]):
    """Free capacity that none of the templates can use once they took what they can."""

    freeDevices = serializers.IntegerField()
    devicesLeft = serializers.IntegerField()
    boardsLeft = serializers.IntegerField(help_text="Boards with room for a partition.")
    isUpperBound = serializers.BooleanField(help_text="true: less may be left than was found.")
    nodesNotLookedAt = serializers.IntegerField(help_text="A node selector is malformed.")
    left = serializers.JSONField(
        help_text="By node; with `isShared`, the nodes see the same devices, which count once."
    )
    templates = serializers.JSONField(help_text="Considered; those of one spec together.")
    templatesOfOthers = serializers.IntegerField(help_text="Considered, too.")
    specsNotLookedAt = serializers.IntegerField(
        help_text=f"Of templates, beyond the {MOST_SHAPES} that ask for most devices."
    )
    templatesNotTried = serializers.ListField(child=serializers.CharField())


class FragmentsThenSerializer(serializers.Serializer[Any]):
    """Before and after the edits."""

    today = FragmentsSerializer()
    then = FragmentsSerializer()


class WhatIfSerializer(serializers.Serializer[Any]):
    """The answer to a scenario."""

    snapshot = SnapshotSerializer()
    scenario = ScenarioSerializer()
    token = serializers.CharField(help_text="Reproduces the answer: `?scenario=`.")
    today = FitSerializer(allow_null=True)
    then = FitSerializer(allow_null=True)
    effects = EffectSerializer(many=True)
    fragments = FragmentsThenSerializer()
