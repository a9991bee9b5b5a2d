"""What windows count of what they try."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """What became of what was tried."""

    rounds: int = 0
    """Those in which something was tried."""

    seconds: float = 0.0
    """What they took."""

    planned: int = 0
    bound: int = 0
    reserved: int = 0
    refused: int = 0
    """Did not fit, or asks for what there is not."""

    dropped: int = 0
    failed: int = 0
    waiting: int = 0
