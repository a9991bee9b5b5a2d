"""Builds the fake library once for each content of its sources."""

import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.programs import need

HERE: Final = Path(__file__).parent
SONAME: Final = "libnvidia-ml.so.1"
FLAGS: Final = (
    "-shared", "-fPIC", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread",
    f"-Wl,-soname,{SONAME},-Bsymbolic",
)  # fmt: skip


def library_directory() -> Path:
    """Return a directory with the library of today's sources, fit for `LD_LIBRARY_PATH`."""
    sources = sorted(HERE.glob("*.[ch]"))
    content = b"".join(source.read_bytes() for source in sources) + " ".join(FLAGS).encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    directory = Path.home() / ".cache/dra-console/fake-nvml" / digest
    if (directory / SONAME).exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as building:
        built = Path(building) / SONAME
        code = [source for source in sources if source.suffix == ".c"]
        subprocess.run([need("gcc"), *FLAGS, "-o", built, *code], check=True)
        # Two tests may build at once; each puts a whole file there.
        built.replace(directory / SONAME)
    return directory
