"""Why a WebSocket is closed, as code and words; part of the wire, so agents and pages can tell."""

from enum import IntEnum


class CloseCode(IntEnum):
    """Private range of RFC 6455, section 7.4.2, spelled after the HTTP status of like meaning."""

    TRY_AGAIN_LATER = 1013
    BAD_FRAME = 4400
    NOT_AUTHENTICATED = 4401
    WRONG_NODE = 4403
    NO_HELLO_IN_TIME = 4408
    REPLACED = 4409
    TOO_FAST = 4429


REASON_BYTES_LIMIT = 123
"""What a close frame has room for beside the code (RFC 6455, section 5.5)."""


class ClosingError(Exception):
    """The connection cannot go on; the peer is told why."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        """Take the reason at any length; it is cut to what fits in a close frame."""
        super().__init__(f"{code.value} {reason}")
        self.code = code
        self.reason = reason.encode()[:REASON_BYTES_LIMIT].decode(errors="ignore")
