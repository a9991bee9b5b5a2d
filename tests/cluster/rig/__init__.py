"""A real Kubernetes on this machine, as test fixture and as a command (`make cluster`)."""

from tests.cluster.rig.api import Api, ApiError, Json
from tests.cluster.rig.cluster import Account, Cluster
from tests.cluster.rig.containerd import Containerd
from tests.cluster.rig.lifecycle import LeftBehindError, running_cluster, running_containerd
from tests.cluster.rig.node import Node
from tests.cluster.rig.options import ClusterOptions, User
from tests.cluster.rig.process import Server, StartError

__all__ = [
    "Account",
    "Api",
    "ApiError",
    "Cluster",
    "ClusterOptions",
    "Containerd",
    "Json",
    "LeftBehindError",
    "Node",
    "Server",
    "StartError",
    "User",
    "running_cluster",
    "running_containerd",
]
