"""Run the embedded cluster under the name that operators look for."""

import os
import sys

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Becomes `python -m dra_console.devcluster`, which knows no Django."""

    help = "Run the embedded cluster; arguments as for python -m dra_console.devcluster."

    def run_from_argv(self, argv: list[str]) -> None:
        program = (sys.executable, "-m", "dra_console.devcluster", *argv[2:])
        os.execv(sys.executable, program)  # noqa: S606 - this very interpreter, no shell wanted
