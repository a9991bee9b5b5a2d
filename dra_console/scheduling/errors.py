"""What ends a scheduling run, or a part of it, before its end."""


class TurnOverError(Exception):
    """A newer holder of the allocation lease has begun; nothing may be allocated any more."""
