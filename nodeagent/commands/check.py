"""`--check`: what keeps this node from serving GPUs, in plain words. Writes nothing anywhere."""

from collections.abc import Iterable, Iterator

from nodeagent.commands import directories, driver, privileges, runtime, server
from nodeagent.commands.verdict import Grade, Verdict, fault, unknown
from nodeagent.config import Config
from nodeagent.fields import JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.errors import CredentialsError, KubeError
from nodeagent.kube.resources import Resources


def check(config: Config) -> Iterator[Verdict]:
    """Yield one verdict after the other, what is nearest to the hardware first."""
    yield from privileges.verdicts()
    if config.profile is None:
        yield from driver.verdicts(config)
    else:
        yield unknown("driver", f"GPUs are simulated ({config.profile}); nothing was looked at")
    yield from directories.verdicts(config)
    try:
        client = Client.of(config.kubeconfig)
    except CredentialsError as error:
        yield fault("API server", str(error))
        yield from runtime.verdicts(config, node=None)
        return
    yield from server.verdicts(client, config)
    node = _node(client, config)
    yield from runtime.verdicts(config, node=node)
    yield from directories.device_plugins(config, node=node)


def status_of(verdicts: Iterable[Verdict]) -> int:
    """Return the exit status: 0 if nothing is known to be wrong, 1 if pods will not start."""
    return int(any(one.grade is Grade.FAULT for one in verdicts))


def _node(client: Client, config: Config) -> JsonObject | None:
    resources = Resources(client, driver=config.driver, node_name=config.node_name)
    try:
        return resources.node(config.node_name)
    except KubeError:
        # `server` has said so already.
        return None
