"""What every template and style sheet must keep, read as text."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template
from django.urls import reverse

from dra_console.web.navigation import ENTRIES
from dra_console.web.templatetags.icons import ICONS_DIR, icon

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLE_SHEETS = sorted((ROOT / "static" / "css").rglob("*.css"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
HANDLER = re.compile(
    r"\son(?:blur|change|click|error|focus|input|key|load|mouse|submit|toggle)\w*\s*="
)
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_has_no_inline_style_script_or_handler(path: Path) -> None:
    text = path.read_text()

    assert not re.search(r"\sstyle\s*=", text)
    assert "<style" not in text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not HANDLER.search(text)
    assert "hx-on" not in text
    assert "js:" not in text
    assert "|safe" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_template_compiles_and_asks_no_other_host(path: Path) -> None:
    text = path.read_text()

    get_template(str(path.relative_to(ROOT / "templates")))
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)


@pytest.mark.parametrize("path", TEMPLATES, ids=name_of)
def test_icons_that_a_template_names_exist(path: Path) -> None:
    named = re.findall(r'\{% icon "([^"]+)"', path.read_text())
    named += re.findall(r'icon_name="([^"]+)"', path.read_text())

    for name in named:
        assert icon(name).startswith("<svg")


def test_icons_carry_no_style_and_come_with_their_licence() -> None:
    assert (ICONS_DIR / "LICENSE").exists()
    for drawing in ICONS_DIR.glob("*.svg"):
        assert "style" not in drawing.read_text()


@pytest.mark.parametrize("path", [p for p in STYLE_SHEETS if p.name != "tokens.css"], ids=name_of)
def test_colours_stand_in_the_tokens_alone(path: Path) -> None:
    assert not COLOUR.search(path.read_text())


@pytest.mark.parametrize("path", STYLE_SHEETS, ids=name_of)
def test_style_sheet_needs_no_id_and_no_important(path: Path) -> None:
    text = path.read_text()

    assert "!important" not in text
    assert not re.search(r"^\s*#[a-z]", text, re.MULTILINE)


def test_every_token_that_is_used_is_defined() -> None:
    tokens = (ROOT / "static/css/tokens.css").read_text()
    sheets = "".join(path.read_text() for path in STYLE_SHEETS)
    defined = set(re.findall(r"(--[a-z0-9-]+):", tokens + sheets))

    assert set(re.findall(r"var\((--[a-z0-9-]+)", sheets)) <= defined


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_script_evaluates_no_text(path: Path) -> None:
    text = path.read_text()

    assert "eval(" not in text
    assert "new Function" not in text
    assert "innerHTML" not in text


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.page)
def test_every_entry_of_the_rail_leads_somewhere(entry: object) -> None:
    assert reverse(f"web:{entry.page}").startswith("/")  # type: ignore[attr-defined]  # an Entry


def test_no_two_entries_share_a_key() -> None:
    keys = [entry.key for entry in ENTRIES]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("folder", sorted((ROOT / "static/vendor").iterdir()), ids=lambda p: p.name)
def test_vendored_files_come_with_their_licence(folder: Path) -> None:
    assert (folder / "LICENSE").exists()
