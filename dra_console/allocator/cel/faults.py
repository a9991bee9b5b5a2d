"""What is wrong with an expression, or with evaluating it on one device."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompileFault:
    """Why an expression is not a selector, and where (from 1; `None` if nowhere in particular)."""

    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    is_too_complex: bool = False
    """It is right, but could cost more than a new expression may."""

    def __str__(self) -> str:
        if self.is_too_complex:
            return self.message
        where = "" if self.line is None else f"line {self.line}, column {self.column}: "
        hint = f"; {self.hint}" if self.hint else ""
        return f"compilation failed: {where}{self.message}{hint}"


@dataclass(frozen=True, slots=True)
class EvaluationFault:
    """Why an expression could not be evaluated on a device."""

    message: str

    def __str__(self) -> str:
        return f"CEL runtime error: {self.message}"
