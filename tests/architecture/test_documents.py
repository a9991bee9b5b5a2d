"""What can be set and what can be called is written down."""

import re
from pathlib import Path

from django.urls import URLResolver, get_resolver

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_setting_is_documented() -> None:
    source = (REPOSITORY / "dra_console/settings.py").read_text()
    read = set(re.findall(r'_(?:setting|words)\(\s*"([A-Z_]+)"', source))
    documented = set(
        re.findall(r"`DRA_CONSOLE_([A-Z_]+)` \|", (REPOSITORY / "docs/settings.md").read_text())
    )

    assert read
    assert read == documented


def test_every_page_is_documented() -> None:
    text = (REPOSITORY / "docs/user-guide.md").read_text()
    pages = [
        pattern
        for resolver in get_resolver().url_patterns
        if isinstance(resolver, URLResolver)
        for pattern in _named(resolver, "web")
    ]

    undocumented = [pattern for pattern in pages if f"`/{pattern}`" not in text]

    assert len(pages) > 10
    assert not undocumented


def _named(resolver: URLResolver, namespace: str) -> list[str]:
    found = []
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            found += _named(entry, namespace)
        elif resolver.namespace == namespace:
            found.append(re.sub(r"<(?:int|str|path):(\w+)>", r"{\1}", str(entry.pattern)))
    return found
