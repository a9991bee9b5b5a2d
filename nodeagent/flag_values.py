"""What the value of a flag has to look like; what is refused says what was expected."""

import argparse
import re
from pathlib import PurePosixPath
from typing import Final

from nodeagent.claims.configuration import GATES
from nodeagent.claims.sharing import Strategy

DRIVER_NAME: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
)
DRIVER_CHARACTERS: Final = 63
POD_UID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HIGHEST_PORT: Final = 65535
MOST_SHARES: Final = 128


def host_directory(path: str) -> PurePosixPath:
    """Take an absolute path on the host."""
    directory = PurePosixPath(path)
    if not directory.is_absolute():
        raise argparse.ArgumentTypeError(f"expected an absolute path, got {path!r}")
    return directory


def feature_gates(written: str) -> frozenset[Strategy]:
    """Take the strategies of sharing that are turned on, as in `MPSSupport=true`."""
    strategies = {gate: strategy for strategy, gate in GATES.items()}
    offered = set()
    for setting in filter(None, written.split(",")):
        gate, _, value = setting.partition("=")
        if gate not in strategies or value not in ("true", "false"):
            known = ", ".join(strategies)
            raise argparse.ArgumentTypeError(
                f"expected NAME=true or NAME=false with a name of {known}; got {setting!r}"
            )
        if value == "true":
            offered.add(strategies[gate])
    return frozenset(offered)


def numbers(written: str) -> frozenset[int]:
    """Take numbers with commas between them."""
    numbers = [number.strip() for number in written.split(",") if number.strip()]
    wrong = [number for number in numbers if not number.isdecimal()]
    if wrong:
        raise argparse.ArgumentTypeError(f"expected numbers, got {wrong[0]!r}")
    return frozenset(map(int, numbers))


def shares(written: str) -> int:
    """Take how many claims may have one GPU."""
    if not written.isdecimal() or not 1 <= int(written) <= MOST_SHARES:
        raise argparse.ArgumentTypeError(f"expected 1 to {MOST_SHARES}, got {written!r}")
    return int(written)


def pod_uid(written: str) -> str:
    """Take a pod's UID."""
    if not POD_UID.fullmatch(written):
        raise argparse.ArgumentTypeError(f"expected a pod's metadata.uid, got {written!r}")
    return written


def port(written: str) -> int:
    """Take a TCP port; below zero: none."""
    if not re.fullmatch(r"-?[0-9]+", written) or int(written) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"expected a port up to {HIGHEST_PORT}, got {written!r}")
    return int(written)


def driver(name: str) -> str:
    """Take a driver's name, a DNS subdomain."""
    if len(name) > DRIVER_CHARACTERS or not DRIVER_NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(
            f"expected a DNS subdomain of at most {DRIVER_CHARACTERS} characters, got {name!r}"
        )
    return name


def address(written: str) -> tuple[str, int]:
    """Take a host and a port, as in `127.0.0.1:9815` and `[::1]:9815`."""
    host, colon, port = written.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, got {written!r}")
    return host.strip("[]"), int(port)
