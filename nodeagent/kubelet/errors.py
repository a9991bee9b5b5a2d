"""What can keep kubelet from reaching the agent."""


class KubeletError(Exception):
    """The agent cannot offer its sockets; nothing on this node could be prepared."""
