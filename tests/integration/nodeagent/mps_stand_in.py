"""A stand-in for `nvidia-cuda-mps-control`: a real daemon and its control program, without a GPU.

`-d` starts the daemon, which leaves a mark in its `/dev/shm`, listens in the pipe directory and
writes down what it is told. Without it, commands come from standard input, one a line. A file
`stubborn` in the log directory makes the daemon ignore `quit`.
"""

import os
import socket
import sys
from pathlib import Path

PIPE = Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where CUDA looks for it
LOG = Path(os.environ["CUDA_MPS_LOG_DIRECTORY"])


def daemon() -> int:
    os.chdir(PIPE)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    Path("control").unlink(missing_ok=True)
    listening.bind("control")
    listening.listen()
    if os.fork():
        return 0
    os.setsid()
    for stream in (0, 1, 2):
        os.close(stream)
    Path("nvidia-cuda-mps-control.pid").write_text(f"{os.getpid()}")
    (SHARED_MEMORY / "mark-of-the-server").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
    while True:
        client, _ = listening.accept()
        command = client.recv(1000).decode()
        with (LOG / "commands").open("a") as told:
            told.write(f"{command}\n")
        is_refused = command.startswith("set_default_active_thread_percentage 13")
        client.send(b"refused" if is_refused else b"100.0")
        client.close()
        if command.startswith("quit") and not (LOG / "stubborn").exists():
            return 0


def control() -> int:
    os.chdir(PIPE)
    for line in sys.stdin:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            client.connect("control")
        except OSError:
            sys.stdout.write("Cannot find MPS control daemon process\n")
            return 1
        client.send(line.strip().encode())
        answer = client.recv(1000).decode()
        sys.stdout.write(f"{answer}\n")
        if answer == "refused":
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(daemon() if sys.argv[1:] == ["-d"] else control())
