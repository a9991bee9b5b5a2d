"""YAML as people type it, to JSON and back.

Reading is strict where YAML is treacherous: a repeated key would lose the first value, an
alias can blow a line up to gigabytes (CVE-2019-11253 in Kubernetes itself), dates and
sexagesimal numbers are no JSON; so the first two are refused and the others stay text.
Sizes and depth are limited. What is refused is named by its line.
"""

import re
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dra_console.allocator.model import Json, JsonObject
from dra_console.provisioning.errors import ManifestError

BYTES_LIMIT: Final = 64 * 1024
DEPTH_LIMIT: Final = 32


def parse_yaml(text: str) -> JsonObject:
    """Read the one object that the text holds; JSON is YAML, too.

    Raises:
        ManifestError: with the line, unless the text is too long.

    """
    size_bytes = len(text.encode(errors="replace"))
    if size_bytes > BYTES_LIMIT:
        raise ManifestError(f"expected at most {BYTES_LIMIT} bytes of YAML, got {size_bytes}")
    try:
        _refuse_aliases_and_depth(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise ManifestError(message, line=mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        raise ManifestError(f"expected YAML: {error}") from error
    obj = None if root is None else _value(root)
    if not isinstance(obj, dict):
        raise ManifestError("expected an object with apiVersion, kind, metadata and spec", line=1)
    return obj


def dump_yaml(obj: JsonObject) -> str:
    """Write an object in block style, keys in their order, long texts unbroken."""
    text: str = yaml.dump(obj, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return text


class _Loader(yaml.SafeLoader):
    """Resolves plain scalars as JSON would, beside YAML's words for true, false and null."""


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(r"(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z"),
    list("yYnNtTfFoO"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,29})\Z"), list("-0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,2})?\Z"),
    list("-0123456789"),
)

_TRUE: Final = frozenset({"yes", "true", "on"})


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and lists indented as `kubectl` does."""


_LINE_BREAKS_BUT_NEWLINE: Final = re.compile("[\r\x85\u2028\u2029]")
"""PyYAML folds them in single quotes."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    block_or_plain = "|" if "\n" in text else None
    style = '"' if _LINE_BREAKS_BUT_NEWLINE.search(text) else block_or_plain
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _refuse_aliases_and_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent):
            raise ManifestError("aliases (*name) are not accepted here", line=line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_LIMIT:
            raise ManifestError(f"expected at most {DEPTH_LIMIT} levels", line=line)


def _object(node: MappingNode) -> JsonObject:
    fields: JsonObject = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            raise ManifestError("expected a name as key", line=line)
        key = key_node.value
        if key in fields:
            raise ManifestError(f"key {key!r} is given twice", line=line)
        fields[key] = _value(value_node)
    return fields


def _value(node: Node) -> Json:
    if isinstance(node, MappingNode) and node.tag == "tag:yaml.org,2002:map":
        return _object(node)
    if isinstance(node, SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_value(inner) for inner in node.value]
    return _scalar(node)


def _scalar(node: Node) -> Json:
    text = node.value if isinstance(node, ScalarNode) else ""
    match node.tag.removeprefix("tag:yaml.org,2002:"):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() in _TRUE
        case "int" if re.fullmatch(r"-?[0-9]{1,30}", text):
            return int(text)
        case "float" if re.fullmatch(r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?", text):
            return float(text)
        case _:
            raise ManifestError(
                f"expected JSON's kinds of values, got {node.tag}", line=node.start_mark.line + 1
            )
