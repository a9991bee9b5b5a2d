"""Discover and read once through NVML, and print what was found; run as a process of its own."""

import dataclasses
import json
import sys
from pathlib import Path

from nodeagent.devices.errors import DevicesError
from nodeagent.devices.nvml import NvmlGpus


def main() -> None:
    gpus = NvmlGpus(sysfs=Path(sys.argv[1]))
    found: dict[str, object]
    try:
        found = {
            "gpus": [dataclasses.asdict(gpu) for gpu in gpus.discover()],
            "readings": [dataclasses.asdict(reading) for reading in gpus.read()],
        }
    except DevicesError as error:
        found = {"error": [type(error).__name__, str(error)]}
    gpus.close()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
