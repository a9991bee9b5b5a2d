"""Generate this package's message classes: `python -m nodeagent.kubelet.proto.generate`.

Needs grpcio-tools and mypy-protobuf, which only developers have; what it writes is committed.
"""

import sys
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped] # grpcio-tools ships no types

HERE = Path(__file__).parent
REPLACED = {
    "from google.protobuf import descriptor_pool as _descriptor_pool\n": (
        "from nodeagent.kubelet.proto import POOL as _POOL\n"
    ),
    "_descriptor_pool.Default()": "_POOL",
}


def generate(target: Path) -> None:
    """Write a module and its type stub for each `.proto` file into a folder.

    Raises:
        SystemExit: the compiler refused a file and has said why.

    """
    stubs = Path(sys.executable).with_name("protoc-gen-mypy")
    status = protoc.main(
        [
            "protoc",
            f"--proto_path={HERE}",
            f"--python_out={target}",
            f"--plugin=protoc-gen-mypy={stubs}",
            f"--mypy_out=quiet:{target}",
            *(str(file) for file in sorted(HERE.glob("*.proto"))),
        ]
    )
    if status:
        raise SystemExit(status)
    for module in target.glob("*_pb2.py"):
        text = module.read_text()
        for found, replacement in REPLACED.items():
            text = text.replace(found, replacement)
        module.write_text(text)


if __name__ == "__main__":
    generate(HERE)
