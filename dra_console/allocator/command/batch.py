"""`batch`: one answer for each scenario line, in order, written at once.

Programs talk to it over a pipe and wait for each answer, hence the flush after every line.
No line ends it: what is wrong with one is its answer.
"""

import json
import traceback
from collections.abc import Iterable
from typing import TextIO

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.cel.checking import make_ready
from dra_console.allocator.command.scenario import answer_to, refusal


def batch(lines: Iterable[bytes], output: TextIO, errors: TextIO) -> None:
    """Answer all lines; texts outside ASCII are escaped, so that any terminal shows them.

    The first answer's `micros` should not count what is made once a process.
    """
    make_ready()
    for line in lines:
        output.write(f"{json.dumps(_answer_to(line, errors), separators=(',', ':'))}\n")
        output.flush()


def _answer_to(line: bytes, errors: TextIO) -> JsonObject:
    try:
        return answer_to(line)
    except Exception as error:  # noqa: BLE001  our own fault, and the lines after it still count
        traceback.print_exc(file=errors)
        return refusal(f"internal error: {error!r}", scenario_id=None)
