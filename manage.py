#!/usr/bin/env python
"""Django's entry script."""

import os
import sys


def main() -> None:
    """Run a management command with the console's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dra_console.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after settings

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
