"""The engine's environment: types, variables and functions, as far as expressions name them.

To declare all functions takes the engine several milliseconds, most of it to read the
configuration, and selectors name few of them. What an expression does not name has no part in
how it is checked, so an environment starts without functions of Kubernetes' own and is made
anew with one family more when an expression names one of it. It never declares less again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2
from google.protobuf.descriptor import FieldDescriptor

from dra_console.allocator.cel.declarations import (
    FAMILIES,
    FOR_LISTS,
    REDECLARED,
    Overload,
    by_function,
)

EXTENSIONS: Final = ("bindings", "optional", "sets", "two-var-comprehensions")
"""Not `lists`, whose `lists.range` takes memory without bound, and not `strings`, to whose
functions Kubernetes adds overloads."""
MESSAGES: Final = {
    "kubernetes": ("Quantity", "Semver", "URL", "NamedFormat"),
    "net": ("IP", "CIDR"),
}
UNKNOWN_UPSTREAM: Final = ({"name": "duration", "overloads": [{"id": "int64_to_duration"}]},)
"""Overloads that cel-go does not have."""
LOCK: Final = Lock()
"""The engine is not safe for use by several threads."""
WORD: Final = re.compile(r"[A-Za-z_]\w*|[<>]=?", re.ASCII)
FIELD_KINDS: Final = {
    "driver": FieldDescriptor.TYPE_STRING,
    "allowMultipleAllocations": FieldDescriptor.TYPE_BOOL,
}


def words_of(overload: Overload) -> frozenset[str]:
    """List the words without which an expression cannot call this, as in `format`, `named`."""
    return frozenset(overload.function.strip("_").split("."))


def _families_by_word() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for family, overloads in FAMILIES.items():
        for overload in overloads:
            for word in words_of(overload):
                found.setdefault(word, set()).add(family)
    return found


FAMILIES_BY_WORD: Final[Mapping[str, set[str]]] = MappingProxyType(_families_by_word())


@dataclass(slots=True)
class Environment:
    """The environment of one dialect; `LOCK` has to be held."""

    fields: tuple[str, ...]
    has_lists: bool
    _families: frozenset[str] = frozenset()
    _made: cel.Env | None = None

    def naming(self, expression: str) -> cel.Env:
        """Return an environment that declares whatever the expression may name."""
        words = FAMILIES_BY_WORD.keys() & WORD.findall(expression)
        return self._with(self._families.union(*(FAMILIES_BY_WORD[word] for word in words)))

    def whole(self) -> cel.Env:
        """Return an environment that declares everything."""
        return self._with(frozenset(FAMILIES))

    def _with(self, families: frozenset[str]) -> cel.Env:
        if self._made is None or families != self._families:
            self._made, self._families = self._make(families), families
        return self._made

    def _make(self, families: frozenset[str]) -> cel.Env:
        overloads = [
            each
            for family, group in FAMILIES.items()
            if family in families and (self.has_lists or family != FOR_LISTS)
            for each in group
        ]
        text = cel.Type.STRING
        value = cel.Type.DYN if self.has_lists else cel.Type("google.protobuf.Any")
        amount = cel.Type("kubernetes.Quantity")
        return cel.NewEnv(
            _types(self.fields),
            config=cel.NewEnvConfigFromYaml(json.dumps(_config(overloads))),
            variables={
                "device": cel.Type("kubernetes.DRADevice"),
                "device.attributes": cel.Type.Map(text, cel.Type.Map(text, value)),
                "device.capacity": cel.Type.Map(text, cel.Type.Map(text, amount)),
            },
        )


@cache
def environment_of(has_multiple_allocations: bool, has_lists: bool) -> Environment:  # noqa: FBT001  a key
    """Return the environment of a dialect, which the whole process shares."""
    fields: tuple[str, ...] = ("driver", "attributes", "capacity")
    if has_multiple_allocations:
        fields = (*fields, "allowMultipleAllocations")
    return Environment(fields, has_lists)


def _config(overloads: list[Overload]) -> dict[str, object]:
    functions = by_function(overloads)
    replaced = [{"name": name} for name in REDECLARED if name in functions]
    return {
        "name": "kubernetes-device-selectors",
        "extensions": [{"name": name} for name in EXTENSIONS],
        "stdlib": {"exclude_functions": [*replaced, *UNKNOWN_UPSTREAM]},
        "functions": [
            {
                "name": name,
                "overloads": [
                    {"id": each.id, "signature": each.signature, "return": each.result}
                    for each in group
                ],
            }
            for name, group in functions.items()
        ],
    }


def _types(device_fields: tuple[str, ...]) -> descriptor_pool.DescriptorPool:
    """Describe Kubernetes' types to the type checker; none has fields but the device.

    The two maps of the device have the type `Struct` here, as protobuf cannot nest maps; the
    variables of the same names are preferred and have the exact types.
    """
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    for package, names in MESSAGES.items():
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{package}.proto", package=package, syntax="proto3"
        )
        for name in names:
            file.message_type.add(name=name)
        pool.AddSerializedFile(file.SerializeToString())
    file = descriptor_pb2.FileDescriptorProto(
        name="device.proto", package="kubernetes", syntax="proto3"
    )
    file.dependency.append("google/protobuf/struct.proto")
    device = file.message_type.add(name="DRADevice")
    for number, name in enumerate(device_fields, start=1):
        kind = FIELD_KINDS.get(name, FieldDescriptor.TYPE_MESSAGE)
        device.field.add(
            name=name,
            number=number,
            label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
            type=descriptor_pb2.FieldDescriptorProto.Type.ValueType(kind),
            type_name=None if name in FIELD_KINDS else ".google.protobuf.Struct",
        )
    pool.AddSerializedFile(file.SerializeToString())
    return pool
