"""The drawn architecture is the built one."""

import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_room_is_described() -> None:
    text = (REPOSITORY / "docs/architecture.md").read_text()
    rooms = [path.parent.name for path in (REPOSITORY / "dra_console").glob("*/__init__.py")]

    undescribed = [room for room in rooms if f"`dra_console/{room}`" not in text]

    assert rooms
    assert not undescribed


def test_drawn_layers_are_those_that_the_linter_holds() -> None:
    text = (REPOSITORY / "docs/architecture.md").read_text()
    drawn = text.split("```text\n")[1].split("```")[0].split("\n")
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())

    held = settings["tool"]["importlinter"]["contracts"][0]["layers"]

    assert [line for line in drawn if line] == held


def test_no_committed_file_names_a_package_registry() -> None:
    registries = ["pypi." + "org", "files.python" + "hosted", "registry.npm" + "js"]
    kinds = {".py", ".toml", ".txt", ".in", ".md", ".json", ".yaml", ".cfg", ""}
    texts = {
        path: path.read_text(errors="ignore")
        for path in REPOSITORY.rglob("*")
        if path.is_file() and path.suffix in kinds and not _is_foreign(path)
    }

    naming = [path for path, text in texts.items() if any(host in text for host in registries)]

    assert not naming


def _is_foreign(path: Path) -> bool:
    parts = path.relative_to(REPOSITORY).parts
    return bool({".git", ".venv", "node_modules", ".demo"} & set(parts)) or "cache" in parts[0]
