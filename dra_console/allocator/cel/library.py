"""Kubernetes' CEL environment for device selectors, on top of cel-expr-python.

Quantities and versions travel through the engine as protobuf messages with one field, the
canonical spelling, so that the engine's own `==` compares them by value. The engine types
the two apart when it compiles, but at run time it dispatches by *kind* and both are
messages; hence the second overload of each shared method is declared without an
implementation, and the first one looks at what it was given.

Left off on purpose: the `lists` extension, which Kubernetes does not enable and whose
`lists.range` takes memory without bound. Not offered by the engine: see the table of
divergences in `tests/unit/allocator/test_selectors.py`.
"""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from dra_console.allocator.cel.text import REAL_DOMAINS_PREFIX
from dra_console.allocator.quantity import NANO, Quantity
from dra_console.allocator.semver import Semver, SemverError

PACKAGE: Final = "kubernetes"
LIST_LIMIT: Final = 48
"""`includes` refuses to look further, as upstream does."""
EXTENSIONS: Final = """
name: kubernetes-device-selectors
extensions:
- name: bindings
- name: optional
- name: sets
- name: strings
- name: two-var-comprehensions
"""


class Carrier(Protocol):
    """A message of this module, as the engine hands it to a function."""

    DESCRIPTOR: Descriptor
    canonical: str


def _message_types() -> tuple[descriptor_pool.DescriptorPool, type[Message], type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(
        name="kubernetes.proto", package=PACKAGE, syntax="proto3"
    )
    for name in ("Quantity", "Semver"):
        file.message_type.add(name=name).field.add(
            name="canonical",
            number=1,
            type=descriptor_pb2.FieldDescriptorProto.Type.ValueType(FieldDescriptor.TYPE_STRING),
            label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
        )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    quantity, semver = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in ("Quantity", "Semver")
    )
    return pool, quantity, semver


POOL, QuantityMessage, SemverMessage = _message_types()
QUANTITY: Final = cel.Type(f"{PACKAGE}.Quantity")
SEMVER: Final = cel.Type(f"{PACKAGE}.Semver")
SCALARS: Final = (cel.Type.STRING, cel.Type.INT, cel.Type.BOOL, SEMVER)


def quantity_message(quantity: Quantity) -> Message:
    """Wrap a quantity for the engine."""
    return QuantityMessage(canonical=str(quantity.nanos))


def semver_message(version: Semver) -> Message:
    """Wrap a version for the engine."""
    return SemverMessage(canonical=str(version))


def new_environment() -> cel.Env:
    """Declare the variables and functions that a device selector may use."""
    return _environment(prefixes=("",))


def new_evaluation_environment() -> cel.Env:
    """Add the variables that only `text.with_real_domains` writes."""
    return _environment(prefixes=("", REAL_DOMAINS_PREFIX))


def _environment(*, prefixes: tuple[str, ...]) -> cel.Env:
    variables = {
        "device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
        "device.driver": cel.Type.STRING,
        "device.allowMultipleAllocations": cel.Type.BOOL,
    }
    for prefix in prefixes:
        variables[f"device.{prefix}attributes"] = _domains(cel.Type.DYN)
        variables[f"device.{prefix}capacity"] = _domains(QUANTITY)
    return cel.NewEnv(
        POOL,
        config=cel.NewEnvConfigFromYaml(EXTENSIONS),
        variables=variables,
        functions=_functions(),
    )


def _domains(value: cel.Type) -> cel.Type:
    return cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, value))


def _functions() -> list[cel.FunctionDecl]:
    text, truth, whole = cel.Type.STRING, cel.Type.BOOL, cel.Type.INT
    return [
        _function("quantity", QUANTITY, ((text,), _quantity)),
        _function("isQuantity", truth, ((text,), _is_quantity)),
        _function("semver", SEMVER, ((text,), _semver), ((text, truth), _semver)),
        _function("isSemver", truth, ((text,), _is_semver), ((text, truth), _is_semver)),
        _ordering("isGreaterThan", truth, lambda left, right: left > right),
        _ordering("isLessThan", truth, lambda left, right: left < right),
        _ordering("compareTo", whole, lambda left, right: (left > right) - (left < right)),
        _method("add", QUANTITY, ((QUANTITY, QUANTITY), _add), ((QUANTITY, whole), _add)),
        _method("sub", QUANTITY, ((QUANTITY, QUANTITY), _sub), ((QUANTITY, whole), _sub)),
        _method("sign", whole, ((QUANTITY,), _sign)),
        _method("isInteger", truth, ((QUANTITY,), lambda value: _nanos(value) % NANO == 0)),
        _method("asInteger", whole, ((QUANTITY,), _as_integer)),
        _method("asApproximateFloat", cel.Type.DOUBLE, ((QUANTITY,), _as_float)),
        _method("major", whole, ((SEMVER,), lambda value: _version(value).core[0])),
        _method("minor", whole, ((SEMVER,), lambda value: _version(value).core[1])),
        _method("patch", whole, ((SEMVER,), lambda value: _version(value).core[2])),
        _includes(),
    ]


Implementation: TypeAlias = Callable[..., object]  # type: ignore[explicit-any]  # one per overload
Overloads: TypeAlias = tuple[tuple[cel.Type, ...], Implementation | None]


def _declare(
    name: str, result: cel.Type, overloads: tuple[Overloads, ...], *, is_member: bool
) -> cel.FunctionDecl:
    return cel.FunctionDecl(
        name,
        [
            cel.Overload(f"{name}_{index}", result, [*parameters], is_member, implementation)
            if implementation
            else cel.Overload(f"{name}_{index}", result, [*parameters], is_member)
            for index, (parameters, implementation) in enumerate(overloads)
        ],
    )


def _function(name: str, result: cel.Type, *overloads: Overloads) -> cel.FunctionDecl:
    return _declare(name, result, overloads, is_member=False)


def _method(name: str, result: cel.Type, *overloads: Overloads) -> cel.FunctionDecl:
    return _declare(name, result, overloads, is_member=True)


def _ordering(name: str, result: cel.Type, compare: Implementation) -> cel.FunctionDecl:
    def compared(left: Carrier, right: Carrier) -> object:
        if left.DESCRIPTOR.name != right.DESCRIPTOR.name:
            raise ValueError(f"no such overload: {name} of a quantity and a version")
        if left.DESCRIPTOR.name == "Quantity":
            return compare(_nanos(left), _nanos(right))
        return compare(_version(left), _version(right))

    return _method(name, result, ((QUANTITY, QUANTITY), compared), ((SEMVER, SEMVER), None))


def _includes() -> cel.FunctionDecl:
    pairs = [(left, right) for left in SCALARS for right in SCALARS]
    lists = [(cel.Type.List(cel.Type.DYN), right) for right in SCALARS]
    return _method(
        "includes",
        cel.Type.BOOL,
        *((pair, _is_same) for pair in pairs),
        *((pair, _list_includes) for pair in lists),
    )


def _is_same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _list_includes(entries: list[object], wanted: object) -> bool:
    for entry in entries[:LIST_LIMIT]:
        if _is_same(entry, wanted):
            return True
    if len(entries) > LIST_LIMIT:
        raise ValueError(f"list is longer than {LIST_LIMIT} entries")
    return False


def _quantity(text: str) -> Message:
    return quantity_message(Quantity.parse(text))


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _semver(text: str, is_lenient: object = False) -> Message:  # noqa: FBT002  CEL passes by position
    return semver_message(Semver.parse_leniently(text) if is_lenient else Semver.parse(text))


def _is_semver(text: str, is_lenient: object = False) -> bool:  # noqa: FBT002  CEL passes by position
    try:
        _semver(text, is_lenient)
    except SemverError:
        return False
    return True


def _nanos(value: Carrier) -> int:
    return int(value.canonical)


def _version(value: Carrier) -> Semver:
    return Semver.parse(value.canonical)


def _amount(value: Carrier | int) -> int:
    return value * NANO if isinstance(value, int) else _nanos(value)


def _add(left: Carrier, right: Carrier | int) -> Message:
    return quantity_message(Quantity(_nanos(left) + _amount(right)))


def _sub(left: Carrier, right: Carrier | int) -> Message:
    return quantity_message(Quantity(_nanos(left) - _amount(right)))


def _sign(value: Carrier) -> int:
    nanos = _nanos(value)
    return (nanos > 0) - (nanos < 0)


def _as_integer(value: Carrier) -> int:
    nanos = _nanos(value)
    if nanos % NANO:
        raise ValueError("cannot convert value to integer")
    return nanos // NANO


def _as_float(value: Carrier) -> float:
    return _nanos(value) / NANO
