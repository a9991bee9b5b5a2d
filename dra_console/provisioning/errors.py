"""What can be wrong with a manifest before its fields are looked at."""


class ManifestError(Exception):
    """A manifest cannot be read; the message says where and what was expected."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        """Take the line (from 1), if it is known."""
        super().__init__(f"line {line}: {message}" if line else message)
