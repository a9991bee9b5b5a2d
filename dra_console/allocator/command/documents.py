"""YAML and JSON texts to JSON values.

YAML is built from the parser's events, without recursion and without its object model:
dates and sexagesimal numbers stay text as JSON has none, a repeated key is refused since one
of the two values would be lost in silence, and so is an alias, since a few lines of them can
stand for gigabytes (CVE-2019-11253 in Kubernetes itself). `kubectl` writes neither.

Messages give the place and never the content, since the content may be a Secret's.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import yaml

from dra_console.allocator.api_json import Json
from dra_console.allocator.command.json_reading import read_value
from dra_console.allocator.errors import AllocatorError

DEPTH_LIMIT: Final = 200
"""Levels of nesting. The deepest schema in a CustomResourceDefinition stays below half of it."""

JSON_TEXT: Final = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")
WHITE: Final = re.compile(r"(?:\s|^---[ \t]*$)*", re.MULTILINE)
WHOLE_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,29})", re.ASCII)
NUMBER: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,2})?", re.ASCII
)
WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
TEXT_TAG: Final = "tag:yaml.org,2002:str"
PLAIN_TAGS: Final = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


class DocumentError(AllocatorError):
    """A text is neither JSON nor YAML that can be read; the message gives the line."""


def read_documents(text: str) -> Iterator[Json]:
    """Yield every document of a text, in order.

    Raises:
        DocumentError: from the place on that cannot be read.

    """
    return _json_documents(text) if JSON_TEXT.match(text) else _yaml_documents(text)


def _json_documents(text: str) -> Iterator[Json]:
    """Read JSON values one after the other, as several calls of `kubectl` write them."""
    position = _after_white(text, 0)
    while position < len(text):
        try:
            value, position = read_value(text, position)
        except json.JSONDecodeError as error:
            is_at_end = not text[error.pos :].strip()
            hint = "; the file ends early" if is_at_end else ""
            raise DocumentError(f"line {error.lineno}: not JSON: {error.msg}{hint}") from error
        except RecursionError as error:
            raise DocumentError("JSON is nested too deeply") from error
        except ValueError as error:
            raise DocumentError(f"not JSON: {error}") from error
        yield value
        position = _after_white(text, position)


def _after_white(text: str, position: int) -> int:
    white = WHITE.match(text, position)
    return white.end() if white else position


@dataclass(slots=True)
class _Builder:
    """The values that are open, the outermost first, and the key that waits for its value."""

    open: list[dict[str, Json] | list[Json]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    document: Json = None

    def begin(self, value: dict[str, Json] | list[Json], *, line: int) -> None:
        self.add(value, line=line)
        self.open.append(value)
        self.keys.append(None)
        if len(self.open) > DEPTH_LIMIT:
            raise DocumentError(f"line {line}: nested more than {DEPTH_LIMIT} levels deep")

    def end(self) -> None:
        self.open.pop()
        self.keys.pop()

    @property
    def expects_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1], dict) and self.keys[-1] is None

    def key(self, key: str, *, line: int) -> None:
        if key in self.open[-1]:
            raise DocumentError(f"line {line}: a key is given twice")
        self.keys[-1] = key

    def add(self, value: Json, *, line: int) -> None:
        if not self.open:
            self.document = value
            return
        holder, key = self.open[-1], self.keys[-1]
        if isinstance(holder, list):
            holder.append(value)
        elif key is None:
            raise DocumentError(f"line {line}: expected a name as key")
        else:
            holder[key] = value
            self.keys[-1] = None


def _yaml_documents(text: str) -> Iterator[Json]:
    try:
        yield from _built(yaml.parse(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        parts = (error.context, error.problem)
        raise DocumentError(_said(text, line, " ".join(filter(None, parts)))) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DocumentError(f"line {line}: not YAML: {error.reason}") from error
    except yaml.YAMLError as error:
        raise DocumentError("not YAML") from error


def _said(text: str, line: int | None, problem: str) -> str:
    if line is None:
        return f"not YAML: {problem}"
    lines = text.splitlines()
    near = lines[max(line - 2, 0) : line]
    if any("\t" in each[: len(each) - len(each.lstrip())] for each in near):
        return f"line {line}: not YAML: a tab in the indentation; YAML wants spaces"
    hint = "; the file may end early" if line >= len(lines) else ""
    return f"line {line}: not YAML: {problem}{hint}"


def _built(events: Iterator[yaml.Event]) -> Iterator[Json]:
    builder = _Builder()
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else 0
        match event:
            case yaml.ScalarEvent():
                if builder.expects_key:
                    builder.key(event.value, line=line)
                else:
                    builder.add(_scalar(event, line=line), line=line)
            case yaml.MappingStartEvent():
                _refuse_tag(event.tag, line=line)
                builder.begin({}, line=line)
            case yaml.SequenceStartEvent():
                _refuse_tag(event.tag, line=line)
                builder.begin([], line=line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                builder.end()
            case yaml.AliasEvent():
                raise DocumentError(f"line {line}: aliases (*name) are not accepted")
            case yaml.DocumentEndEvent():
                yield builder.document
                builder = _Builder()


def _scalar(event: yaml.ScalarEvent, *, line: int) -> Json:
    if not event.implicit[0]:
        if event.tag not in {None, "!", TEXT_TAG}:
            raise DocumentError(f"line {line}: tags (!name) are not accepted")
        return str(event.value)
    text: str = event.value
    if text in WORDS:
        return WORDS[text]
    if WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else text


def _refuse_tag(tag: str | None, *, line: int) -> None:
    if tag not in PLAIN_TAGS:
        raise DocumentError(f"line {line}: tags (!name) are not accepted")
