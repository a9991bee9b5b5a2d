"""A scenario from JSON, strictly: what is unknown, misplaced or too much is refused by its path."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.decoding.decode import decode_claim_spec
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.inventory import NO_EXECUTE, NO_SCHEDULE, DeviceId
from dra_console.scheduling.whatif.edits import (
    AddNodes,
    AddPods,
    DeviceSelection,
    DrainNode,
    Edit,
    FreeClaim,
    RemoveNode,
    SetClassSelectors,
    TaintDevices,
    UntaintDevices,
)
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.scenario import Scenario

MOST_EDITS: Final = 32
MOST_NODES: Final = 1_000
MOST_PODS: Final = 2_000
MOST_CLAIMS: Final = 8
"""Of one pod."""

MOST_CHANGES: Final = 64
"""Operations of one patch."""

MOST_SELECTORS: Final = 32
MOST_CHARACTERS: Final = 10_240
"""Of one expression, as in the API."""

NAME_LENGTH: Final = 253
EFFECTS: Final = (NO_SCHEDULE, NO_EXECUTE)


def decode_scenario(raw: object) -> Scenario:
    """Read a scenario.

    Raises:
        DecodeError: it is none; `path` says where.

    """
    fields = Fields.at("", raw)  # type: ignore[arg-type]  # parsed JSON, whatever it is
    _only(fields, "edits", "pod", "snapshot")
    edits = [_edit(each) for each in fields.children("edits")]
    if len(edits) > MOST_EDITS:
        raise DecodeError("edits", f"expected at most {MOST_EDITS} edits, got {len(edits)}")
    pod = fields.child("pod")
    return Scenario(
        edits=tuple(edits),
        pod=None if pod is None else pod_shape(pod),
        snapshot=_optional_name(fields, "snapshot"),
    )


def pod_shape(fields: Fields) -> PodShape:
    """Read the claims of one pod."""
    _only(fields, "claims")
    claims = tuple(_claim_source(each) for each in fields.children("claims"))
    if not 0 < len(claims) <= MOST_CLAIMS:
        path = fields.path_of("claims")
        raise DecodeError(path, f"expected 1 to {MOST_CLAIMS} claims, got {len(claims)}")
    return PodShape(claims)


def _edit(fields: Fields) -> Edit:
    kind = fields.text("type")
    if kind not in READERS:
        known = ", ".join(READERS)
        raise DecodeError(fields.path_of("type"), f"expected one of {known}, got {kind!r}")
    return READERS[kind](fields)


def _add_nodes(fields: Fields) -> Edit:
    _only(fields, "type", "like", "count")
    return AddNodes(_name(fields, "like"), _count(fields, MOST_NODES))


def _remove_node(fields: Fields) -> Edit:
    _only(fields, "type", "node")
    return RemoveNode(_name(fields, "node"))


def _drain_node(fields: Fields) -> Edit:
    _only(fields, "type", "node")
    return DrainNode(_name(fields, "node"))


def _taint(fields: Fields) -> Edit:
    _only(fields, "type", "devices", "key", "value", "effect")
    devices = _devices(fields)
    if devices.is_empty:
        path = fields.path_of("devices")
        raise DecodeError(
            path, "expected a driver, pool, device or node; none would be every device"
        )
    effect = fields.text("effect")
    if effect not in EFFECTS:
        path = fields.path_of("effect")
        raise DecodeError(path, f"expected {' or '.join(EFFECTS)}, got {effect!r}")
    return TaintDevices(devices, _name(fields, "key"), _optional_name(fields, "value"), effect)


def _untaint(fields: Fields) -> Edit:
    _only(fields, "type", "devices", "key", "effect")
    return UntaintDevices(_devices(fields), _name(fields, "key"), _optional_name(fields, "effect"))


def _free_claim(fields: Fields) -> Edit:
    holding = fields.child("holding")
    if holding is None:
        _only(fields, "type", "namespace", "name")
        return FreeClaim(_name(fields, "namespace"), _name(fields, "name"))
    _only(fields, "type", "holding")
    _only(holding, "driver", "pool", "device")
    parts = [_name(holding, part) for part in ("driver", "pool", "device")]
    return FreeClaim(holding=DeviceId(*parts))


def _add_pods(fields: Fields) -> Edit:
    _only(fields, "type", "pod", "count")
    pod = fields.child("pod")
    if pod is None:
        raise DecodeError(fields.path_of("pod"), "expected the claims of a pod")
    return AddPods(pod_shape(pod), _count(fields, MOST_PODS))


def _set_class_selectors(fields: Fields) -> Edit:
    _only(fields, "type", "deviceClass", "selectors")
    selectors = fields.texts("selectors")
    path = fields.path_of("selectors")
    if len(selectors) > MOST_SELECTORS:
        raise DecodeError(path, f"expected at most {MOST_SELECTORS}, got {len(selectors)}")
    for number, expression in enumerate(selectors):
        if len(expression) > MOST_CHARACTERS:
            raise DecodeError(f"{path}[{number}]", f"expected at most {MOST_CHARACTERS} characters")
        program = default_engine().compile(expression)
        if isinstance(program, CompileFault):
            raise DecodeError(f"{path}[{number}]", str(program))
    return SetClassSelectors(_name(fields, "deviceClass"), selectors)


READERS: Final[Mapping[str, Callable[[Fields], Edit]]] = MappingProxyType(
    {
        AddNodes.type: _add_nodes,
        RemoveNode.type: _remove_node,
        DrainNode.type: _drain_node,
        TaintDevices.type: _taint,
        UntaintDevices.type: _untaint,
        FreeClaim.type: _free_claim,
        AddPods.type: _add_pods,
        SetClassSelectors.type: _set_class_selectors,
    }
)


def _claim_source(fields: Fields) -> ClaimSource:
    _only(fields, "template", "claim", "spec", "patch")
    given = [name for name in ("template", "claim", "spec") if fields.has(name)]
    if len(given) != 1:
        raise DecodeError(fields.path, "expected one of template, claim and spec")
    patch = tuple(_operation(each) for each in fields.children("patch"))
    if len(patch) > MOST_CHANGES:
        path = fields.path_of("patch")
        raise DecodeError(path, f"expected at most {MOST_CHANGES} operations, got {len(patch)}")
    source = fields.child(given[0]) or Fields(fields.path_of(given[0]), {})
    if given == ["spec"]:
        decode_claim_spec(source.raw, path=source.path)
        return ClaimSource(spec=source.raw, patch=patch)
    _only(source, "namespace", "name")
    names = (_name(source, "namespace"), _name(source, "name"))
    if given == ["template"]:
        return ClaimSource(template=names, patch=patch)
    return ClaimSource(claim=names, patch=patch)


def _operation(fields: Fields) -> JsonObject:
    """Read one operation of a patch, of the kinds that explanations suggest."""
    _only(fields, "op", "path", "value")
    kind, path = fields.text("op"), fields.text("path")
    if kind not in {"add", "remove", "replace"}:
        raise DecodeError(fields.path_of("op"), f"expected add, remove or replace, got {kind!r}")
    if not path.startswith("/spec/"):
        raise DecodeError(fields.path_of("path"), f"expected a path under /spec/, got {path!r}")
    operation: JsonObject = {"op": kind, "path": path}
    if kind != "remove":
        value: Json = fields.raw.get("value")
        operation["value"] = value
    return operation


def _devices(fields: Fields) -> DeviceSelection:
    devices = fields.child("devices")
    if devices is None:
        return DeviceSelection()
    _only(devices, "driver", "pool", "device", "node")
    return DeviceSelection(
        driver=_optional_name(devices, "driver"),
        pool=_optional_name(devices, "pool"),
        device=_optional_name(devices, "device"),
        node=_optional_name(devices, "node"),
    )


def _count(fields: Fields, most: int) -> int:
    count = fields.integer("count")
    if count is None or not 1 <= count <= most:
        raise DecodeError(fields.path_of("count"), f"expected 1 to {most}, got {count}")
    return count


def _name(fields: Fields, key: str) -> str:
    name = _optional_name(fields, key)
    if not name:
        raise DecodeError(fields.path_of(key), "expected a name")
    return name


def _optional_name(fields: Fields, key: str) -> str:
    name = fields.text(key)
    if len(name) > NAME_LENGTH or not name.isprintable():
        path = fields.path_of(key)
        raise DecodeError(path, f"expected a name of at most {NAME_LENGTH} characters")
    return name


def _only(fields: Fields, *known: str) -> None:
    for name in fields.raw:
        if name not in known:
            raise DecodeError(fields.path_of(name), f"unknown; expected {', '.join(known)}")
