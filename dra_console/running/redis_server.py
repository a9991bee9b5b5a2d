"""A Redis-protocol server for machines without redis-server. For runs of one person only."""

import argparse
import signal
import sys
from types import FrameType

from fakeredis import TcpFakeServer


def main() -> None:
    """Serve on 127.0.0.1 until SIGTERM."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    port = arguments.parse_args().port
    signal.signal(signal.SIGTERM, _leave)
    TcpFakeServer(("127.0.0.1", port), server_type="redis").serve_forever()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    main()
