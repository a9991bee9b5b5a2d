"""A container image made here, since a test machine reaches no registry: busybox alone."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any, Final

IMAGE: Final = "localhost/busybox:1"
PAUSE_IMAGE: Final = "localhost/pause:1"
APPLETS: Final = ("sh", "sleep", "env", "cat", "ls", "echo", "test", "true", "id", "mount", "ip")
OCI: Final = "application/vnd.oci.image"


def write_archive(path: Path, *, busybox: Path) -> None:
    """Write an OCI archive with the image for pods and the one for sandboxes.

    busybox has to be linked statically.
    """
    files: dict[str, bytes] = {}
    layer = _layer(busybox.read_bytes())
    packed = gzip.compress(layer, mtime=0)
    config = _blob(
        files,
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Env": ["PATH=/bin"],
                # The first process of a sandbox only has to stay.
                "Cmd": ["/bin/sleep", "2147483647"],
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        },
    )
    files[_place(_digest(packed))] = packed
    manifest = _blob(
        files,
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {"mediaType": f"{OCI}.config.v1+json", **config},
            "layers": [
                {
                    "mediaType": f"{OCI}.layer.v1.tar+gzip",
                    "digest": _digest(packed),
                    "size": len(packed),
                }
            ],
        },
    )
    described = {"mediaType": f"{OCI}.manifest.v1+json", **manifest}
    index = {
        "schemaVersion": 2,
        "manifests": [
            {**described, "annotations": {"io.containerd.image.name": name}}
            for name in (IMAGE, PAUSE_IMAGE)
        ],
    }
    files["index.json"] = json.dumps(index).encode()
    files["oci-layout"] = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            _add(archive, name, content)


def _layer(busybox: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tree:
        for directory in ("bin", "etc", "tmp", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tree.addfile(entry)
        _add(tree, "bin/busybox", busybox, mode=0o755)
        for applet in APPLETS:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tree.addfile(entry)
        _add(tree, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _blob(files: dict[str, bytes], document: dict[str, Any]) -> dict[str, Any]:
    content = json.dumps(document).encode()
    digest = _digest(content)
    files[_place(digest)] = content
    return {"digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _place(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")
