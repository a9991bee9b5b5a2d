"""The command line: which room answers which sub-command."""

import sys

from dra_console.allocator.command.batch import batch


def main() -> int:
    """Run the command line and return its exit status."""
    batch(sys.stdin.buffer, sys.stdout)
    return 0
