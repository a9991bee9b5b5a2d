"""`python -m tests.cluster.tools.agent_image FILE`: the node agent's image, without a registry.

The Containerfile's own lines are run, by buildah. The image that they begin with is made here of
Debian's packages, and has the name that they ask for. It, and every step, is kept in a cache
folder for all clones: only what changed is run again.
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nodeagent import __version__
from tests.cluster.tools.building import Say, alone
from tests.cluster.tools.recipes import DIGEST_CHARACTERS, cache_folder

CHECKOUT: Final = Path(__file__).parents[3]
CONTAINERFILE: Final = CHECKOUT / "deploy/node-agent/Containerfile"
NAME: Final = "localhost/dra-nodeagent"
IMAGE: Final = f"{NAME}:{__version__}"
BASE: Final = re.compile(r"^FROM (debian:(\w+)-slim) AS runtime$", re.MULTILINE)
STAGE: Final = "build"
"""The Containerfile's stage whose steps take longest; under a name of its own it is kept."""

PROGRAMS: Final = ("buildah", "mmdebstrap")
SOURCES: Final = frozenset({".proto", ".py", ".pyi", ".toml", ".typed"})
PIP_SETTINGS: Final = ("index-url", "extra-index-url", "proxy", "trusted-host")
CA_IN_BUILD: Final = "/run/secrets/ca.crt"
KEPT_ARCHIVES: Final = 2
ERROR_LINES: Final = 20


class ImageError(Exception):
    """A step failed; the message holds its last lines."""


def archive(*, say: Say) -> Path:
    """Return an OCI archive with the image of this checkout's agent, built if nobody did.

    Raises:
        ImageError: a program is missing, or failed.

    """
    folder = cache_folder().parent / "image"
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / f"dra-nodeagent-{_digest()}.tar"
    with alone(folder / ".lock", say=say):
        if not whole.exists():
            _Builder(folder, say).build(whole)
            _forget_older(folder)
    return whole


class _Builder:
    def __init__(self, folder: Path, say: Say) -> None:
        self._folder = folder
        self._say = say

    def build(self, whole: Path) -> None:
        self._make_base()
        with _pip_secrets() as secrets:
            common: tuple[str | Path, ...] = (
                *("bud", "--isolation", "chroot", "--pull-never", "--layers", *secrets),
                *("--ignorefile", f"{CONTAINERFILE}.dockerignore", "-f", CONTAINERFILE),
            )
            self._say(f"{IMAGE}: running the steps of {CONTAINERFILE.relative_to(CHECKOUT)}")
            self._buildah(*common, "--target", STAGE, "-t", f"{NAME}:{STAGE}", CHECKOUT)
            self._buildah(*common, "-t", IMAGE, CHECKOUT)
        part = self._folder / "part.tar"
        part.unlink(missing_ok=True)
        self._buildah("push", IMAGE, f"oci-archive:{part}:{IMAGE}")
        # What earlier versions of the steps made has no name any more.
        self._buildah("rmi", "--prune")
        part.replace(whole)

    def _make_base(self) -> None:
        found = BASE.search(CONTAINERFILE.read_text())
        if found is None:
            raise ImageError(f"{CONTAINERFILE} begins with none of Debian's images")
        name, suite = f"localhost/{found[1]}", found[2]
        if name in self._buildah("images", "--format", "{{.Name}}:{{.Tag}}").split():
            return
        self._say(f"{name}: made of Debian's packages")
        files = self._folder / "base.tar"
        _run("mmdebstrap", "--variant=minbase", "--format=tar", suite, files)
        container = self._buildah("from", "scratch").strip()
        self._buildah("add", container, files, "/")
        self._buildah("commit", "--rm", container, name)
        files.unlink()

    def _buildah(self, *words: str | Path) -> str:
        storage, state = self._folder / "storage", self._folder / "state"
        return _run("buildah", "--root", storage, "--runroot", state, *words)


def _digest() -> str:
    """Name what the image is made of."""
    package = (CHECKOUT / "nodeagent").rglob("*")
    files = (
        CONTAINERFILE,
        Path(f"{CONTAINERFILE}.dockerignore"),
        CHECKOUT / "requirements/nodeagent.txt",
        *sorted(path for path in package if path.suffix in SOURCES),
    )
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(CHECKOUT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:DIGEST_CHARACTERS]


def _forget_older(folder: Path) -> None:
    archives = sorted(folder.glob("dra-nodeagent-*.tar"), key=lambda path: path.stat().st_mtime)
    for path in archives[:-KEPT_ARCHIVES]:
        path.unlink()


@contextlib.contextmanager
def _pip_secrets() -> Iterator[tuple[str, ...]]:
    """Hand the machine's own configuration of pip to the build: a proxy, another index."""
    told = _run(sys.executable, "-m", "pip", "config", "list")
    # A variable of the environment comes last and wins.
    pairs = re.findall(r"^\S*?\.([\w-]+)='(.*)'$", told, re.MULTILINE)
    found = {key: value.replace("\\n", "\n") for key, value in pairs}
    lines = [f"{key} = {found[key]}" for key in PIP_SETTINGS if key in found]
    secrets = []
    if "cert" in found:
        lines.append(f"cert = {CA_IN_BUILD}")
        secrets += ["--secret", f"id={Path(CA_IN_BUILD).name},src={found['cert']}"]
    with tempfile.NamedTemporaryFile("w", prefix="pip-", suffix=".conf") as file:
        file.write("\n".join(["[global]", *lines, ""]))
        file.flush()
        yield (*secrets, "--secret", f"id=pip.conf,src={file.name}")


def _run(*words: str | Path) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ImageError(f"{words[0]} is missing: apt install {words[0]}") from None
    if done.returncode != 0:
        told = (done.stdout + done.stderr).splitlines()[-ERROR_LINES:]
        raise ImageError(f"{words[0]} failed:\n" + "\n".join(told))
    return done.stdout


def main() -> int:
    """Copy the archive to the file that is named; the exit status is 1 where that fails."""
    (wanted,) = sys.argv[1:]
    if os.geteuid() != 0:
        sys.stderr.write("Building the image needs root: its steps install packages\n")
        return 1
    try:
        shutil.copyfile(archive(say=say), wanted)
    except ImageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    say(f"{wanted}: {IMAGE}, for `ctr -n k8s.io images import {wanted}`")
    return 0


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
