"""The command line: which room answers which sub-command, and with which exit status."""

import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TextIO

from dra_console.allocator.command.allocate import allocate_as_json, allocate_as_yaml
from dra_console.allocator.command.arguments import Arguments, read_arguments
from dra_console.allocator.command.batch import batch
from dra_console.allocator.command.dump import DumpError
from dra_console.allocator.command.explain import explain_as_json, explain_as_text
from dra_console.allocator.command.report import printable
from dra_console.allocator.command.statuses import ExitStatus
from dra_console.allocator.command.task import Task
from dra_console.allocator.errors import AllocatorError

INTERRUPTED: Final = 130
"""What shells report for a program that Ctrl-C ended."""

WRITERS: Final[Mapping[tuple[str, str], Callable[[Task, TextIO, TextIO], ExitStatus]]] = (
    MappingProxyType(
        {
            ("explain", "text"): explain_as_text,
            ("explain", "json"): explain_as_json,
            ("allocate", "yaml"): allocate_as_yaml,
            ("allocate", "json"): allocate_as_json,
        }
    )
)
"""By sub-command and `--output`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know ASCII only
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
    return WRITERS[arguments.command, arguments.output](task, sys.stdout, sys.stderr)


def _refuse(problems: Sequence[str], errors: TextIO) -> ExitStatus:
    for problem in problems:
        print(f"dra-explain: {printable(problem)}", file=errors)
    return ExitStatus.BROKEN_INPUT
