"""What an expression can look at: the base of the classes of equal devices."""

import pytest

from dra_console.allocator.cel.reads import Read, Reads
from dra_console.allocator.cel.selectors import Program, default_engine

MODEL = Read("attributes", "d", "model")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "d"', Reads()),
        ('device.attributes["d"].model == "x"', Reads(frozenset({MODEL}))),
        ("device.attributes['d'].model == 'x'", Reads(frozenset({MODEL}))),
        ('device.attributes["d"].?model.orValue("")', Reads(frozenset({MODEL}))),
        ('device.attributes["d"]["model"]', Reads(frozenset({MODEL}))),
        ('device.attributes[?"d"].?model.hasValue()', Reads(frozenset({MODEL}))),
        ("device.attributes.d.model", Reads(frozenset({MODEL}))),
        ('"model" in device.attributes["d"]', Reads(frozenset({Read("attributes", "d", None)}))),
        ('sign(device.capacity["d"].mem) > 0', Reads(frozenset({Read("capacity", "d", "mem")}))),
        ('"d" in device.attributes', Reads(is_whole_device=True)),
        ("device.attributes[device.driver].model", Reads(is_whole_device=True)),
        ("cel.bind(x, device, x.driver == 'd')", Reads(is_whole_device=True)),
        ("device.attributes.exists(d, true)", Reads(is_whole_device=True)),
        ("'device.attributes' == 'x'", Reads()),
    ],
)
def test_reads_are_what_the_expression_can_depend_on(expression: str, expected: Reads) -> None:
    program = default_engine().compile(expression)

    assert isinstance(program, Program), str(program)
    assert program.reads == expected
