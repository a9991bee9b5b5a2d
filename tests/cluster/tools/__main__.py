"""`python -m tests.cluster.tools`, the verb `make cluster-tools`: build a cluster's programs."""

import shutil
import sys

from tests.cluster.tools.building import BuildError, build, missing_programs
from tests.cluster.tools.recipes import KUBERNETES, RECIPES


def main() -> int:
    """Build what is missing; the exit status is 1 where that fails."""
    missing = [program for recipe in RECIPES for program in missing_programs(recipe)]
    if missing:
        go = shutil.which("go")
        if go is None:
            sys.stderr.write(f"Go is missing, and it would build {', '.join(missing)}\n")
            return 1
        if missing_programs(KUBERNETES):
            say("Kubernetes is built from its Go modules; the first time takes about 15 minutes")
        try:
            for recipe in RECIPES:
                build(recipe, go=go, say=say)
        except BuildError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            sys.stderr.write("Stopped; what was built is kept\n")
            return 1
    for recipe in RECIPES:
        say(f"{recipe.name}: {recipe.folder}")
    return 0


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
