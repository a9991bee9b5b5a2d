"""What users write on their objects for the console to act on them."""

from typing import Final

SCHEDULER_NAME: Final = "dra-console"
"""`spec.schedulerName` of pods that the console places."""
