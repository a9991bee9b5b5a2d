"""Generate the message modules of this package: `python -m dra_console.devcluster.proto.generate`.

Needs grpcio-tools and mypy-protobuf, which only developers install; the results are committed.
"""

import sys
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]  # grpcio-tools ships no types

HERE = Path(__file__).parent
DEFAULT_POOL = "_descriptor_pool.Default()"
DEFAULT_POOL_IMPORT = "from google.protobuf import descriptor_pool as _descriptor_pool\n"
OWN_POOL_IMPORT = "from dra_console.devcluster.proto import POOL\n"


def generate(target: Path) -> None:
    """Write `*_pb2.py` and `*_pb2.pyi` for every `.proto` file into the folder `target`.

    Raises:
        SystemExit: the compiler refused a file; it has printed the reason.

    """
    plugin = Path(sys.executable).with_name("protoc-gen-mypy")
    arguments = [
        "protoc",
        f"--proto_path={HERE}",
        f"--plugin=protoc-gen-mypy={plugin}",
        f"--python_out={target}",
        f"--mypy_out=quiet:{target}",
        *(str(path) for path in sorted(HERE.glob("*.proto"))),
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit(1)
    for module in target.glob("*_pb2.py"):
        generated = module.read_text()
        module.write_text(
            generated.replace(DEFAULT_POOL_IMPORT, OWN_POOL_IMPORT).replace(DEFAULT_POOL, "POOL")
        )


if __name__ == "__main__":
    generate(HERE)
