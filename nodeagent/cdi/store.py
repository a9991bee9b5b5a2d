"""The CDI files of this driver's claims, one a claim, in the runtime's directory.

A reader never sees half a file (written beside it and renamed), and never an invalid one
(validated first). File names hold the claim's UID, so the directory alone says which claims
had been given to containers, should the checkpoint be lost.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodeagent.cdi.errors import InvalidSpecError
from nodeagent.cdi.spec import CLASS, vendor
from nodeagent.cdi.validate import problems
from nodeagent.durable import sync_directory, write_durably
from nodeagent.fields import JsonObject

FILE_MODE: Final = 0o644
DIRECTORY_MODE: Final = 0o755
CLAIM_UID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
"""What may become part of a file name and of a CDI device name."""


@dataclass(frozen=True, slots=True)
class CdiStore:
    """One driver's claim files in one directory."""

    directory: Path
    driver: str

    def path_of(self, claim_uid: str) -> Path:
        """Return where a claim's file is, or would be."""
        return self.directory / f"{self._prefix}{claim_uid}.json"

    def write(self, claim_uid: str, spec: JsonObject) -> None:
        """Put a claim's file in place.

        Raises:
            InvalidSpecError: a runtime would refuse it; nothing was written.
            OSError: the directory cannot be written.

        """
        faults = problems(spec)
        if faults:
            raise InvalidSpecError(f"CDI file of claim {claim_uid}: {'; '.join(faults)}")
        # A cleaned tmpfs takes the directory along.
        self.directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        write_durably(self.path_of(claim_uid), encode(spec), mode=FILE_MODE)

    def holds(self, claim_uid: str, spec: JsonObject) -> bool:
        """Tell whether the claim's file is there with exactly that content."""
        try:
            return self.path_of(claim_uid).read_bytes() == encode(spec)
        except OSError:
            return False

    def remove(self, claim_uid: str) -> None:
        """Remove a claim's file; none being there is fine.

        Raises:
            OSError: the directory cannot be written.

        """
        with contextlib.suppress(FileNotFoundError):
            self.path_of(claim_uid).unlink()
            sync_directory(self.directory)

    def device_names(self, claim_uid: str) -> tuple[str, ...]:
        """Return the CDI names that a claim's file lists; empty if it cannot be read."""
        try:
            spec = json.loads(self.path_of(claim_uid).read_bytes())
        except (OSError, ValueError):
            return ()
        if problems(spec):
            return ()
        return tuple(device["name"] for device in spec["devices"])

    def claim_uids(self) -> Iterator[str]:
        """Yield the UIDs of all claims that have a file."""
        for path in sorted(self.directory.glob(f"{self._prefix}*.json")):
            claim_uid = path.name.removeprefix(self._prefix).removesuffix(".json")
            if CLAIM_UID.fullmatch(claim_uid):
                yield claim_uid

    @property
    def _prefix(self) -> str:
        return f"{vendor(self.driver)}-{CLASS}_"


def encode(spec: JsonObject) -> bytes:
    """Spell a spec as it stands in its file."""
    # Runtimes read it as YAML, which does not know JSON's pairs of escapes for one character.
    return json.dumps(spec, indent=2, ensure_ascii=False).encode() + b"\n"
