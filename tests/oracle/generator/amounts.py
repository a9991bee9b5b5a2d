"""Capacities, the policies by which shares of them are counted, and requests for them.

Amounts are whole milli-units while they are reckoned with, since a policy's values depend
on each other, and become quantities in varying notation when they are written.
"""

from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from tests.oracle.generator.chance import Chance

GIB: Final = 1 << 30
MILLI: Final = 1000
SIZES: Final = {"mem": (1 * GIB, 2 * GIB, 4 * GIB, 8 * GIB), "cores": (1, 2, 4, 8)}
"""Sizes of each capacity, in whole units."""


def quantity(chance: Chance, milli: int) -> str:
    """Write an amount in one of the notations that mean it."""
    whole, rest = divmod(milli, MILLI)
    if rest:
        return f"{milli}m"
    if whole and whole % GIB == 0 and not chance.maybe(0.1):
        return f"{whole // GIB}Gi"
    if whole and whole % (1 << 20) == 0 and not chance.maybe(0.2):
        return f"{whole >> 20}Mi"
    return f"{milli}m" if chance.maybe(0.05) else str(whole)


def capacity(chance: Chance, kind: str, *, is_shareable: bool) -> JsonObject:
    """Draw one capacity of a device; only shareable devices may have a policy."""
    milli = chance.pick(SIZES[kind]) * MILLI
    entry: JsonObject = {"value": quantity(chance, milli)}
    if is_shareable and chance.maybe(0.6):
        entry["requestPolicy"] = _policy(chance, milli)
    return entry


def capacity_request(chance: Chance, kinds: list[str]) -> JsonObject:
    """Draw what a request wants of each capacity."""
    requests: JsonObject = {}
    for kind in kinds:
        unit = SIZES[kind][0] * MILLI
        eighths = chance.pick((0, 1, 4, 8, 8, 8, 12, 16, 24, 32, 64, 72))
        milli = unit * eighths // 8 + chance.pick((0, 0, 0, 0, 0, 1, MILLI))
        requests[kind] = quantity(chance, milli)
    if chance.maybe(0.02):
        requests["cores"] = chance.pick(("1u", "9E", "100E", "9223372036854775807", "1500u"))
    return {"requests": requests}


def _policy(chance: Chance, value: int) -> JsonObject:
    unit = value // 8
    match chance.pick(("default", "values", "range", "range", "no max", "no step")):
        case "default":
            return {"default": quantity(chance, unit * chance.between(0, 8))}
        case "values":
            drawn = chance.some([unit * part for part in range(9)], least=1, most=5)
            # Without its gate for fractions the API server compares them rounded up.
            values = list({-(-each // MILLI): each for each in reversed(drawn)}.values())[::-1]
            written: list[Json] = [quantity(chance, each) for each in values]
            return {"default": quantity(chance, chance.pick(values)), "validValues": written}
        case kind:
            return _range(chance, unit, kind)


def _range(chance: Chance, unit: int, kind: str) -> JsonObject:
    lowest = chance.between(0, 3)
    step = chance.between(1, 2)
    steps = chance.between(1, (8 - lowest) // step)
    limits: JsonObject = {"min": quantity(chance, unit * lowest)}
    if kind != "no max":
        limits["max"] = quantity(chance, unit * (lowest + step * steps))
    if kind != "no step":
        limits["step"] = quantity(chance, unit * step)
    default = unit * (lowest + step * chance.between(0, steps))
    return {"default": quantity(chance, default), "validRange": limits}
