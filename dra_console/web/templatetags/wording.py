"""Spells numbers and times in templates; see `dra_console.web.wording`."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dra_console.web.wording import age_in_words, bytes_in_words, reading_in_words

register = template.Library()

UNKNOWN = "not known"


@register.filter
def as_bytes(amount: int | None) -> str:
    """Say an amount of memory."""
    return UNKNOWN if amount is None else bytes_in_words(amount)


@register.filter
def as_reading(value: int | str | None, name: str) -> str:
    """Say one reading, named as telemetry names it."""
    return reading_in_words(name, value)


@register.filter
def as_age(age: timedelta | None) -> str:
    """Say a length of time."""
    return UNKNOWN if age is None else age_in_words(age)


@register.filter
def since(moment: datetime | None) -> SafeString | str:
    """Say how long ago a moment was, with the moment itself on hovering."""
    if moment is None:
        return UNKNOWN
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        age_in_words(timezone.now() - moment),
    )


@register.filter
def lookup(mapping: Mapping[str, object], key: str) -> object:
    """Read what a mapping holds under a key that the template has in a variable."""
    return mapping.get(key, ())
