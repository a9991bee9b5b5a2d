"""The link to the console, made as the flags say."""

from nodeagent.claims.ledger import Ledger
from nodeagent.config import Config
from nodeagent.devices.model import Source
from nodeagent.health.report import Reports
from nodeagent.telemetry.link import Link
from nodeagent.telemetry.messages import Identity, Naming
from nodeagent.telemetry.outbox import Outbox


def link_of(  # noqa: PLR0913 - what is told comes from several parts
    config: Config,
    *,
    source: Source,
    boot_id: str,
    outbox: Outbox,
    ledger: Ledger | None = None,
    reports: Reports | None = None,
) -> Link | None:
    """Return the link, if a console is named; without a ledger devices are known by UUID."""
    if config.console_url is None or config.console_token_file is None:
        return None
    identity = Identity(
        node_name=config.node_name,
        driver=config.driver,
        pool=config.node_name,
        source=source,
        boot_id=boot_id,
        naming=Naming.UUID if ledger is None else Naming.PUBLISHED,
    )
    return Link(
        config.console_url,
        token_file=config.console_token_file,
        identity=identity,
        outbox=outbox,
        ledger=ledger,
        reports=reports,
    )
