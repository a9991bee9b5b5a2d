"""What can be wrong with what the allocator is given.

Callers decide on these two cases only: an object that cannot be read at all, and a
quantity that is not one. Everything that is readable but refused is a value
(`FieldError` from `validate`, `BrokenInput` from `search`), never an exception.
"""


class AllocatorError(Exception):
    """Base of every exception that this library raises on purpose."""


class DecodeError(AllocatorError):
    """An API object has a field of the wrong kind; `path` says which."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class QuantityError(AllocatorError, ValueError):
    """A text is not a Kubernetes quantity."""
