"""What can be wrong with a manifest before its fields are looked at."""


class ManifestError(Exception):
    """A manifest cannot be read; the message says where and what was expected."""

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        """Take the field path or the line (from 1), whichever is known."""
        where = f"line {line}: " if line else f"{path}: " if path else ""
        super().__init__(f"{where}{message}")
        self.message = message
        self.path = path
        self.line = line
