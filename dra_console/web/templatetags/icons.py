"""Icons drawn into the page, from files under `templates/web/icons` (Tabler icons, MIT)."""

from functools import cache
from pathlib import Path

from django import template
from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

ICONS_DIR = Path(settings.BASE_DIR) / "templates" / "web" / "icons"
PLAIN_CLASS = 'class="icon"'

TONES = {"success": "ok", "warning": "warn", "error": "sick"}
TONE_ICONS = {"success": "circle-check", "warning": "alert-triangle", "error": "alert-triangle"}


@register.simple_tag
def icon(name: str, extra_class: str = "") -> SafeString:
    """Draw an icon; what it means must also stand there as text."""
    drawing = _drawing(name)
    if extra_class:
        drawing = drawing.replace(PLAIN_CLASS, f'class="icon {extra_class}"', 1)
    return mark_safe(drawing)  # noqa: S308 - a file of ours and class names from our templates


@register.filter
def tone(level_tag: str) -> str:
    """Turn a Django message's level into the tone of a notice."""
    return TONES.get(level_tag, "held")


@register.filter
def tone_icon(level_tag: str) -> str:
    """Name the icon that goes with a Django message's level."""
    return TONE_ICONS.get(level_tag, "info-circle")


@cache
def _drawing(name: str) -> str:
    return (ICONS_DIR / f"{name}.svg").read_text(encoding="utf-8").strip()
