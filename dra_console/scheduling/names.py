"""What users write on their objects for the console to act on them."""

from typing import Final

SCHEDULER_NAME: Final = "dra-console"
"""`spec.schedulerName` of pods that the console places."""

MANAGED_TAINT_KEY: Final = "dra-console.io/managed"
"""Key of the taint, by a DeviceTaintRule and with effect NoSchedule, on devices that only the
console allocates. The console's plans put up with this key, whatever the value; no toleration
of it is written to a claim or to an allocation's result."""

RESERVE_AHEAD_LABEL: Final = "dra-console.io/reserve-ahead"
"""Label of claims that the console allocates before any pod uses them; its value is `true`."""
