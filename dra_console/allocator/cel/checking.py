"""Parsing and type-checking, by the engine, in the dialect that applies.

The engine is cel-expr-python; what it hands out is a tree with types, and nothing of it takes
part in evaluation: its functions in Python crash on some values (optionals), and it stops
after 10,000 iterations whatever they cost.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Final, Self

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2
from google.protobuf.descriptor import FieldDescriptor

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.declarations import INCLUDES, OVERLOADS, REDECLARED, by_function
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.serialized import read_checked
from dra_console.allocator.cel.tree import CheckedTree
from dra_console.allocator.rules import Feature

EXTENSIONS: Final = ("bindings", "optional", "sets", "two-var-comprehensions")
"""Not `lists`, whose `lists.range` takes memory without bound, and not `strings`, to whose
functions Kubernetes adds overloads."""
MESSAGES: Final = {
    "kubernetes": ("Quantity", "Semver", "URL", "NamedFormat"),
    "net": ("IP", "CIDR"),
}
REPORT: Final = re.compile(r"ERROR: <input>:(?P<line>-?\d+):(?P<column>-?\d+): (?P<text>[^\n]*)")
UNDEFINED: Final = re.compile(r"^(undefined field '\w+').*")
UNKNOWN_PATH: Final = re.compile(r"undeclared reference to '(?P<name>\w+)\.[\w.]+'")
"""The engine points at the dot; Kubernetes at the name before it, and names only that."""
TOO_DEEP: Final = "recursion"
ENGINE_ERRORS: Final = (RuntimeError, TypeError, ValueError, OverflowError)
"""Seen from the engine; the first is the usual one, the others came out of fuzzing."""
UNKNOWN_UPSTREAM: Final = [{"name": "duration", "overloads": [{"id": "int64_to_duration"}]}]
"""Overloads that cel-go does not have."""
LOCK: Final = Lock()
"""The engine is not safe for use by several threads."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which expressions are accepted.

    New and changed ones are held to the feature gates and to the limit of estimated costs;
    stored ones are always understood, whatever the gates say by now.
    """

    is_new: bool = False
    has_multiple_allocations: bool = True
    has_lists: bool = True

    @classmethod
    def of_new(cls, features: frozenset[Feature]) -> Self:
        """Choose what the API server applies to a new expression."""
        return cls(
            is_new=True,
            has_multiple_allocations=Feature.CONSUMABLE_CAPACITY in features,
            has_lists=Feature.LIST_TYPE_ATTRIBUTES in features,
        )


STORED: Final = Dialect()


def check(expression: str, dialect: Dialect) -> CheckedTree | CompileFault:
    """Parse and type-check, or say what is wrong and where."""
    environment = _environment(dialect.has_multiple_allocations, dialect.has_lists)
    source = cel_text.with_engine_macros(expression)
    try:
        return _checked(environment, source)
    except ENGINE_ERRORS as error:
        report = str(error)
    if TOO_DEEP in report:
        try:
            return _checked(environment, cel_text.with_fewer_parentheses(source))
        except ENGINE_ERRORS as error:
            report = str(error)
    return _fault(expression, report)


def _checked(environment: cel.Env, source: str) -> CheckedTree:
    with LOCK:
        return read_checked(environment.compile(source).serialize())


def _fault(expression: str, report: str) -> CompileFault:
    quote = cel_text.typographic_quote(expression)
    if quote is not None:
        character, (line, column) = quote
        return CompileFault(
            f"typographic quote {character} (U+{ord(character):04X})",
            line,
            column,
            hint="use the plain quotes \" or ' around texts",
        )
    if TOO_DEEP in report:
        return CompileFault("the expression is nested too deeply")
    places = [
        (int(found["line"]), int(found["column"]), found["text"])
        for found in REPORT.finditer(report)
    ]
    if not places:
        return CompileFault(report.partition(" [")[0])
    line, column, message = min([place for place in places if place[0] > 0] or places)
    message = UNDEFINED.sub(r"\1", message).removesuffix(" (in container '')")
    unknown = UNKNOWN_PATH.fullmatch(message)
    if unknown:
        name = unknown["name"]
        before = expression.splitlines()[line - 1][: column - 1]
        return CompileFault(f"undeclared reference to '{name}'", line, before.rfind(name) + 1)
    return CompileFault(message, line, column)


@cache
def _environment(has_multiple_allocations: bool, has_lists: bool) -> cel.Env:  # noqa: FBT001  a key
    fields: tuple[str, ...] = ("driver", "attributes", "capacity")
    if has_multiple_allocations:
        fields = (*fields, "allowMultipleAllocations")
    text, value = cel.Type.STRING, cel.Type.DYN if has_lists else cel.Type("google.protobuf.Any")
    overloads = (*OVERLOADS, INCLUDES) if has_lists else OVERLOADS
    config = {
        "name": "kubernetes-device-selectors",
        "extensions": [{"name": name} for name in EXTENSIONS],
        "stdlib": {"exclude_functions": [{"name": name} for name in REDECLARED] + UNKNOWN_UPSTREAM},
        "functions": [
            {
                "name": name,
                "overloads": [
                    {"id": each.id, "signature": each.signature, "return": each.result}
                    for each in group
                ],
            }
            for name, group in by_function(overloads).items()
        ],
    }
    return cel.NewEnv(
        _types(fields),
        config=cel.NewEnvConfigFromYaml(json.dumps(config)),
        variables={
            "device": cel.Type("kubernetes.DRADevice"),
            "device.attributes": cel.Type.Map(text, cel.Type.Map(text, value)),
            "device.capacity": cel.Type.Map(
                text, cel.Type.Map(text, cel.Type("kubernetes.Quantity"))
            ),
        },
    )


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


FIELD_KINDS: Final = {
    "driver": FieldDescriptor.TYPE_STRING,
    "allowMultipleAllocations": FieldDescriptor.TYPE_BOOL,
}
