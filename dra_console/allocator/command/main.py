"""The command line: which room answers which sub-command, and with which exit status."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final, TextIO

from dra_console.allocator.command.allocate import allocate_task
from dra_console.allocator.command.arguments import Arguments, read_arguments
from dra_console.allocator.command.batch import batch
from dra_console.allocator.command.dump import DumpError
from dra_console.allocator.command.explain import explain_task
from dra_console.allocator.command.report import printable
from dra_console.allocator.command.statuses import ExitStatus
from dra_console.allocator.command.task import Task
from dra_console.allocator.errors import AllocatorError

INTERRUPTED: Final = 130
"""What shells report for a program that Ctrl-C ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = _run(read_arguments(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; Python would complain again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FITS
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001  Python would exit with 1, which says "does not fit" here
        traceback.print_exc()
        return ExitStatus.FAILURE
    return status


def _run(arguments: Arguments) -> ExitStatus:
    if arguments.command == "batch":
        batch(sys.stdin.buffer, sys.stdout, sys.stderr)
        return ExitStatus.FITS
    try:
        task = Task.read(arguments)
    except DumpError as error:
        return _refuse(error.problems, sys.stderr)
    except AllocatorError as error:
        return _refuse([str(error)], sys.stderr)
    answer = explain_task if arguments.command == "explain" else allocate_task
    return answer(task, sys.stdout, sys.stderr, as_json=arguments.output == "json")


def _refuse(problems: Sequence[str], errors: TextIO) -> ExitStatus:
    for problem in problems:
        print(f"dra-explain: {printable(problem)}", file=errors)
    return ExitStatus.BROKEN_INPUT
