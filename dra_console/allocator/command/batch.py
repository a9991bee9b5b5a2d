"""`batch`: one answer for each scenario line, in order, written at once.

Programs talk to it over a pipe and wait for each answer, hence the flush after every line.
No line ends it: what is wrong with one is its answer.
"""

import json
from collections.abc import Iterable
from typing import TextIO

from dra_console.allocator.command.scenario import answer_to


def batch(lines: Iterable[bytes], output: TextIO) -> None:
    """Answer all lines; texts outside ASCII are escaped, so that any terminal shows them."""
    for line in lines:
        output.write(f"{json.dumps(answer_to(line), separators=(',', ':'))}\n")
        output.flush()
