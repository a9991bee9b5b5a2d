"""Files about prepared devices, and the CDI files that bind them into containers.

A container holds on to the very file that was bound, so a change is written into it, never beside
it. The file says all that is needed to make its CDI file again, which lives in a directory that is
empty after a reboot.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.errors import InvalidSpecError
from nodeagent.cdi.metadata import Description, metadata_id, metadata_spec
from nodeagent.cdi.store import FILE_MODE, encode
from nodeagent.cdi.validate import problems
from nodeagent.durable import write_durably

log = structlog.get_logger()

DIRECTORY: Final = "dra-device-metadata"
FILE: Final = "metadata.json"
DIRECTORY_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class MetadataFiles:
    """One driver's files on one node."""

    plugin_directory: Path
    cdi_directory: Path
    driver: str

    def write(self, description: Description) -> None:
        """Put one request's file and its CDI file in place; what is there already stays.

        Raises:
            InvalidSpecError: a runtime would refuse the CDI file.
            OSError: a directory cannot be written.

        """
        path = self._path_of(description)
        known = _read(path)
        if known is None or known[0].claim_uid != description.claim_uid:
            path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            write_durably(path, description.to_stream(generation=1), mode=FILE_MODE)
        elif known[0] != description:
            _overwrite(path, description.to_stream(generation=known[1] + 1))
        self._ensure_cdi_file(description)

    def ids(self, claim_uid: str, main_requests: Iterable[str]) -> Mapping[str, str]:
        """Return the CDI ids by request, of those requests that have their files."""
        return {
            request: metadata_id(self.driver, claim_uid, request)
            for request in main_requests
            if self._cdi_path_of(claim_uid, request).is_file()
        }

    def remove(self, claim_uid: str) -> None:
        """Remove everything about a claim; nothing being there is fine.

        Raises:
            OSError: a directory cannot be written.

        """
        for path, description in self._all():
            if description.claim_uid == claim_uid:
                shutil.rmtree(path.parent)
                with contextlib.suppress(OSError):
                    # The claim's directory goes with its last request.
                    path.parent.parent.rmdir()
        for file in self.cdi_directory.glob(f"{self._cdi_prefix(claim_uid)}*.json"):
            file.unlink(missing_ok=True)

    def repair(self) -> tuple[str, ...]:
        """Make CDI files again that are gone or changed; return the UIDs of their claims."""
        repaired = []
        for _, description in self._all():
            try:
                if self._ensure_cdi_file(description):
                    repaired.append(description.claim_uid)
            except (InvalidSpecError, OSError) as error:
                claim = description.claim_uid
                log.warning("device metadata not repaired", claim=claim, reason=str(error))
        return tuple(dict.fromkeys(repaired))

    def claim_uids(self) -> frozenset[str]:
        """Return the UIDs of all claims that have files."""
        return frozenset(description.claim_uid for _, description in self._all())

    def _all(self) -> Iterator[tuple[Path, Description]]:
        for path in sorted((self.plugin_directory / DIRECTORY).glob(f"*/*/{FILE}")):
            known = _read(path)
            if known is not None:
                yield path, known[0]

    def _ensure_cdi_file(self, description: Description) -> bool:
        host_path = str(self._path_of(description))
        spec = metadata_spec(description, driver=self.driver, host_path=host_path)
        faults = problems(spec)
        if faults:
            raise InvalidSpecError(f"{description.request}: {'; '.join(faults)}")
        path = self._cdi_path_of(description.claim_uid, description.main_request)
        with contextlib.suppress(OSError):
            if path.read_bytes() == encode(spec):
                return False
        self.cdi_directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        write_durably(path, encode(spec), mode=FILE_MODE)
        return True

    def _path_of(self, description: Description) -> Path:
        claim = f"{description.claim_namespace}_{description.claim_name}"
        return self.plugin_directory / DIRECTORY / claim / description.main_request / FILE

    def _cdi_path_of(self, claim_uid: str, main_request: str) -> Path:
        return self.cdi_directory / f"{self._cdi_prefix(claim_uid)}{main_request}.json"

    def _cdi_prefix(self, claim_uid: str) -> str:
        return f"{self.driver}_metadata_{claim_uid}_"


def _read(path: Path) -> tuple[Description, int] | None:
    try:
        return Description.from_stream(path.read_bytes())
    except (OSError, ValueError):
        return None


def _overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
