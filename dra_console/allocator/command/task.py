"""A dump and the arguments as what `explain` and `allocate` work on.

A dump is often incomplete: somebody left out a kind, or may not list it. Where the answer
depends on that it is said, and nodes that are missing altogether are taken from the slices
that name them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from dra_console.allocator.command.admission import refusals
from dra_console.allocator.command.arguments import Arguments
from dra_console.allocator.command.dump import Dump, read_dump
from dra_console.allocator.command.features import features_written
from dra_console.allocator.command.gathering import Gathering
from dra_console.allocator.command.inquiries import Inquirer, Inquiry, UnknownNameError
from dra_console.allocator.model import Node, Snapshot
from dra_console.allocator.rules import DEFAULT_RULES, Rules


@dataclass(frozen=True, slots=True)
class Task:
    """What to answer; `nodes` are those that may be used, `remarks` are about the dump."""

    dump: Dump
    snapshot: Snapshot
    inquiries: tuple[Inquiry, ...]
    is_named: bool
    """Whether somebody named what is asked about; otherwise it is all that waits."""

    nodes: tuple[Node, ...]
    rules: Rules
    remarks: tuple[str, ...]

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        """Read the dump and find what is asked about.

        Raises:
            DumpError: the dump cannot be used.
            UnknownNameError: a claim, template or node is not in it.
            DecodeError: there is no such feature gate.

        """
        rules = DEFAULT_RULES
        if arguments.features is not None:
            rules = Rules(features=features_written(arguments.features, path="--features"))
        dump = read_dump(arguments.files)
        inquiries = _inquiries(Inquirer.of(dump.gathering), arguments)
        remarks = tuple(_remarks(dump))
        _add_nodes(dump.gathering)
        return cls(
            dump=dump,
            snapshot=dump.gathering.snapshot(),
            inquiries=tuple(
                replace(each, refused=tuple(refusals(dump, each, rules=rules)))
                for each in inquiries
            ),
            is_named=bool(arguments.claim or arguments.template),
            nodes=_nodes(dump.gathering, arguments.node),
            rules=rules,
            remarks=remarks,
        )


def _inquiries(inquirer: Inquirer, arguments: Arguments) -> tuple[Inquiry, ...]:
    if not arguments.claim and not arguments.template:
        return inquirer.waiting()
    return (
        *inquirer.about_claims(arguments.claim),
        *inquirer.about_templates(arguments.template),
    )


def _nodes(gathering: Gathering, names: Sequence[str]) -> tuple[Node, ...]:
    """Pick the named nodes, or take all, in the order of the dump."""
    known = {node.name for node in gathering.nodes}
    for name in names:
        if name not in known:
            raise UnknownNameError(f"node {name} is not among the {len(known)} nodes of the dump")
    return tuple(node for node in gathering.nodes if not names or node.name in names)


def _remarks(dump: Dump) -> Iterator[str]:
    gathering = dump.gathering
    if not gathering.slices:
        yield "The dump holds no ResourceSlice, so there is no device. Was the kind left out?"
    if not gathering.classes:
        yield "The dump holds no DeviceClass. Was the kind left out?"
    if not gathering.nodes and gathering.slices:
        yield (
            "The dump holds no Node. Those that slices name are taken instead, without labels; "
            "devices for several nodes may be missing."
        )
    unknown = [each for each in gathering.slices if each.unknown_fields]
    if unknown:
        first = unknown[0]
        yield (
            "Fields of a newer API are not looked at, so a device may be less free than it seems: "
            f"{first.unknown_fields[0]} of ResourceSlice {first.name}"
            f"{f', and in {len(unknown) - 1} more' if len(unknown) > 1 else ''}."
        )
    if dump.repeated:
        yield f"Given twice, word for word, and taken once: {dump.repeated} objects."


def _add_nodes(gathering: Gathering) -> None:
    if not gathering.nodes:
        names = (each.reach.node_name for each in gathering.slices)
        gathering.nodes.extend(Node(name) for name in dict.fromkeys(names) if name)
