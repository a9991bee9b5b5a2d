"""Spare the cyclic garbage collector work that finds nothing, in workers and in `web`.

Decoding a page of a list makes some 50,000 dicts and lists, none of them in a cycle. With
Python's default of a run for every 700 new objects, the collector looks through each page
many times while it is being decoded, and through everything else in the process now and
then: half the time of a first list. Objects without cycles, which is nearly all of them,
are freed without it. What is derived from a fleet when somebody asks what if is alike: the
collector takes a third of the time of a first answer.
"""

import gc
from typing import Final

THRESHOLDS: Final = (200_000, 20, 20)
"""New objects before the youngest are looked through; runs of those before older ones are."""


def look_less_often() -> None:
    """Leave out what is loaded by now for ever, and run for every `THRESHOLDS` new objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
