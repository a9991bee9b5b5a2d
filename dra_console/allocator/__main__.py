"""`python -m dra_console.allocator`: explain, allocate, batch."""

import sys

from dra_console.allocator.command.main import main

if __name__ == "__main__":
    sys.exit(main())
