"""Which pods the console places itself."""

from typing import Final

SCHEDULER_NAME: Final = "dra-console"
"""`spec.schedulerName` of pods that the console places."""
