"""The fake library keeps to what nvidia-ml-py expects of the real one."""

import re
import subprocess
from pathlib import Path

import pynvml

from tests.fake_nvml.library import SONAME, library_directory
from tests.programs import need

IN_THE_CLIENT = re.compile(r'_nvmlGetFunctionPointer\("(nvml\w+)"\)')


def test_every_function_of_the_fake_is_one_that_the_client_library_calls() -> None:
    listed = subprocess.run(
        [need("nm"), "--dynamic", "--defined-only", library_directory() / SONAME],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    exported = {line.split()[-1] for line in listed.splitlines() if " T nvml" in line}

    called = set(IN_THE_CLIENT.findall(Path(pynvml.__file__).read_text()))

    assert len(exported) > 60
    assert exported - called == set()
