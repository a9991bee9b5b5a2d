"""What a look at one thing of the node came to, in words for whoever runs it."""

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How bad it is; the words are what `--check` prints."""

    GOOD = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    FAULT = "fault"
    """Pods with claims will not start, or other pods' devices are not safe."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of `--check`."""

    grade: Grade
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.grade:<8} {self.subject}: {self.text}"


def good(subject: str, text: str) -> Verdict:
    """Say that something is as it has to be."""
    return Verdict(Grade.GOOD, subject, text)


def unknown(subject: str, text: str) -> Verdict:
    """Say what could not be found out."""
    return Verdict(Grade.UNKNOWN, subject, text)


def warning(subject: str, text: str) -> Verdict:
    """Say what will make trouble for some pods."""
    return Verdict(Grade.WARNING, subject, text)


def fault(subject: str, text: str) -> Verdict:
    """Say what keeps the agent from its work."""
    return Verdict(Grade.FAULT, subject, text)
