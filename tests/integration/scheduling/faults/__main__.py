"""`python -m tests.integration.scheduling.faults --rounds N --seed S`: prints a report as JSON.

Starts what it needs: a database, Redis, a devcluster and the proxy in front of it. The exit
status is 1 where something was found; `--directory` keeps logs and data.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def main() -> int:
    """Play; the report goes to standard output."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.scheduling.faults")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    os.environ["DRA_TEST_DATABASE"] = given.database
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        report = _play(given, given.directory or Path(folder))
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 1 if report["violations"] else 0


def _play(given: argparse.Namespace, directory: Path) -> dict[str, object]:
    import random

    import django

    django.setup()

    import redis
    from django.core.management import call_command

    from dra_console.kube.client import Client
    from dra_console.mirror.models import Cluster
    from tests import settings
    from tests.cluster.chaos.servers import RedisServer
    from tests.integration.devclusters import running_devcluster
    from tests.integration.scheduling.faults.cluster import Stage
    from tests.integration.scheduling.faults.rounds import Game
    from tests.postgresql import running_postgresql

    directory.mkdir(parents=True, exist_ok=True)
    database = (
        running_postgresql(Path(settings.SERVERS_DIR) / "pg", port=settings.POSTGRESQL_PORT)
        if given.database == "postgresql"
        else nullcontext()
    )
    server = RedisServer(directory, settings.REDIS_PORT)
    server.start()
    try:
        with database, running_devcluster(directory, options=("--api-only",)) as devcluster:
            if given.database == "postgresql":
                _make_database(settings.POSTGRESQL_PORT)
            call_command("migrate", verbosity=0)
            with _running_proxy(devcluster.url) as proxy_url:
                text = devcluster.kubeconfig.read_text().replace(devcluster.url, proxy_url)
                kubeconfig = directory / "through-proxy"
                kubeconfig.write_text(text)
                cluster = Cluster.objects.create(name="faults", kubeconfig=str(kubeconfig))
                client = Client.from_kubeconfig(str(devcluster.kubeconfig))
                game = Game(
                    stage=Stage(client, cluster, random.Random(given.seed)),
                    cluster=cluster,
                    proxy_url=proxy_url,
                    server_url=devcluster.url,
                    redis=redis.Redis.from_url(server.url),
                    directory=directory,
                    seed=given.seed,
                )
                game.stage.build()
                began = time.monotonic()
                game.play(given.rounds)
                game.count_ends()
                return {"seconds": round(time.monotonic() - began, 1), **game.report.to_json()}
    finally:
        server.kill()


def _make_database(port: int) -> None:
    import psycopg

    with psycopg.connect(
        f"postgresql://postgres@127.0.0.1:{port}/postgres", autocommit=True
    ) as connection:
        connection.execute("create database console")


@contextmanager
def _running_proxy(upstream: str) -> Iterator[str]:
    words = [sys.executable, "-m", "tests.integration.scheduling.faults.proxy", upstream]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}"
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
