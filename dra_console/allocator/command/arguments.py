"""The arguments of each sub-command, and what `--help` says."""

import argparse
from collections.abc import Sequence
from typing import Final

SUB_COMMANDS: Final = ("explain", "allocate", "batch")
DUMP_COMMAND: Final = (
    "kubectl get -A -o yaml "
    "nodes,pods,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,"
    "devicetaintrules > dump.yaml"
)
DESCRIPTION: Final = f"""\
Answers "why does this claim wait?" from what kubectl printed. It needs no cluster.

  {DUMP_COMMAND}
  dra-explain dump.yaml
"""
EXIT_STATUSES: Final = """\
exit status:
  0  everything fits, or has its devices
  1  something does not fit
  2  broken input; standard error names file, object and field
  3  a search ended without an answer
"""


class Arguments(argparse.Namespace):
    """What was asked for; `command` is one of `SUB_COMMANDS`."""

    command: str
    files: list[str]
    claim: list[str]
    template: list[str]
    node: list[str]
    features: str | None
    output: str


def read_arguments(argv: Sequence[str]) -> Arguments:
    """Parse a command line; without a sub-command it means `explain`."""
    first = argv[0] if argv else "--help"
    if first not in {*SUB_COMMANDS, "-h", "--help"}:
        argv = ["explain", *argv]
    return _parser().parse_args(argv or ["--help"], namespace=Arguments())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dra-explain",
        description=DESCRIPTION,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explain = commands.add_parser(
        "explain",
        help="say why claims fit or do not (the default)",
        description=DESCRIPTION,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_dump(explain, outputs=("text", "json"))
    allocate = commands.add_parser(
        "allocate",
        help="print the allocation that would be written",
        description="Prints status.allocation of every claim that would be allocated now, pod "
        "by pod in the order of the dump, each with what the ones before it leave.",
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_dump(allocate, outputs=("yaml", "json"))
    commands.add_parser(
        "batch",
        help="answer scenarios, one JSON object a line, from standard input",
        description="Reads one scenario a line from standard input and writes one answer a line.",
    )
    return parser


def _add_dump(parser: argparse.ArgumentParser, *, outputs: tuple[str, str]) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="what kubectl get -o yaml (or json) printed; - for standard input",
    )
    parser.add_argument(
        "--claim",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME",
        help="this claim, allocated or not, with the others of its pod; may be repeated",
    )
    parser.add_argument(
        "--template",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME",
        help="a claim that would be made from this template; may be repeated",
    )
    parser.add_argument(
        "--node", action="append", default=[], help="only this node; may be repeated"
    )
    parser.add_argument(
        "--features",
        metavar="GATES",
        help="feature gates that are on, as A,B, or changes to the default, as A=true,B=false",
    )
    parser.add_argument("--output", "-o", choices=outputs, default=outputs[0])
