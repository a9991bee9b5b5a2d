"""Writes a random expression of a wanted type, from the outside to the inside.

Most are well typed; now and then a part of another type is put in, or a character is lost.
"""

from typing import Final

from tests.oracle.expressions.templates import BRANCHES, CONSTANTS, ELEMENTS, LEAVES, TYPES
from tests.oracle.generator.chance import Chance

OTHER_TYPE: Final = 1 / 60
VARIABLE: Final = 0.4
TWO_VARIABLES: Final = 0.25
BROKEN: Final = 1 / 50
MACROS: Final = ("all", "exists", "exists_one")
SLIPS: Final = ("", "(", " ", "&", '"')


def expression(chance: Chance, depth: int) -> str:
    """Write a selector as deep as that."""
    written = Writer(chance).written("bool", depth)
    if chance.maybe(BROKEN):
        at = chance.between(0, len(written) - 1)
        written = written[:at] + chance.pick(SLIPS) + written[at + 1 :]
    return written


class Writer:
    """Knows which variables are in sight, with their types."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.variables: list[tuple[str, str]] = []

    def written(self, kind: str, depth: int) -> str:
        """Write an expression of a type, or rarely of another."""
        if self.chance.maybe(OTHER_TYPE):
            kind = self.chance.pick(TYPES)
        known = [name for name, held in self.variables if held == kind]
        if known and self.chance.maybe(VARIABLE):
            return self.chance.pick(known)
        return self.filled(self.chance.pick((LEAVES if depth <= 0 else BRANCHES)[kind]), depth)

    def filled(self, template: str, depth: int) -> str:
        """Replace each mark by what it stands for."""
        result = ""
        while "<<" in template:
            before, _, rest = template.partition("<<")
            mark, _, template = rest.partition(">>")
            result += before + self._marked(mark, depth)
        return result + template

    def _marked(self, mark: str, depth: int) -> str:
        if mark in CONSTANTS:
            return self.chance.pick(CONSTANTS[mark])
        if mark == "macro":
            return self._macro(depth)
        if mark == "bind":
            return self._bind(depth)
        return self.written(mark, depth - 1)

    def _macro(self, depth: int) -> str:
        over = self.chance.pick([*ELEMENTS])
        listed, name = self.written(over, depth - 1), self.chance.pick(MACROS)
        index, variable = f"i{len(self.variables)}", f"v{len(self.variables)}"
        bound = [(variable, ELEMENTS[over])]
        if self.chance.maybe(TWO_VARIABLES):
            bound = [(index, "int"), *bound]
        condition = self._within(bound, depth)
        return f"{listed}.{name}({', '.join(each for each, _ in bound)}, {condition})"

    def _bind(self, depth: int) -> str:
        kind, name = self.chance.pick(TYPES), f"b{len(self.variables)}"
        value = self.written(kind, depth - 1)
        return f"cel.bind({name}, {value}, {self._within([(name, kind)], depth)})"

    def _within(self, bound: list[tuple[str, str]], depth: int) -> str:
        self.variables += bound
        condition = self.written("bool", depth - 1)
        del self.variables[-len(bound) :]
        return condition
