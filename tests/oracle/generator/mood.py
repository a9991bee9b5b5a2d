"""What a scenario is about.

If every scenario held every feature of the API, nearly none could be allocated, and if each
feature were rare, none would meet another. So each scenario first draws its ingredients;
within it those are frequent, and all others are absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.oracle.generator.chance import Chance

DRIVERS: Final = ("a.io", "b.io")


class Ingredient(StrEnum):
    """One part of the feature space that a scenario may draw."""

    ADMIN = "admin access"
    ALL = "mode All"
    ALTERNATIVES = "firstAvailable"
    BINDING = "binding conditions"
    CONFIG = "configuration"
    CONSTRAINTS = "constraints"
    ERRING = "expressions that err"
    HARD = "hard to search"
    HELD = "devices in use"
    MISSING = "missing attributes"
    PARTITIONS = "shared counters"
    PER_DEVICE = "per-device node selection"
    RULES = "DeviceTaintRules"
    SELECTORS = "selectors"
    SHARES = "consumable capacity"
    TAINTS = "taints"
    UNCLEAN = "pools being changed or broken"
    WIDE = "wide claims"
    # Behind gates that are off by default:
    DERIVED = "derived attributes"
    GROUPS = "compatibility groups"
    LISTS = "list attributes"
    SKIPS = "skipped node operations"


GATE_OF: Final[Mapping[Ingredient, str]] = {
    Ingredient.DERIVED: "DRADerivedAttributes",
    Ingredient.GROUPS: "DRADeviceCompatibilityGroups",
    Ingredient.LISTS: "DRAListTypeAttributes",
    Ingredient.SKIPS: "DRAOptionalNodeOperations",
}

DEFAULT_GATES: Final = (
    "DRAAdminAccess",
    "DRAPrioritizedList",
    "DRAPartitionableDevices",
    "DRADeviceTaints",
    "DRADeviceBindingConditions",
    "DRAConsumableCapacity",
)
FRACTIONAL: Final = "DRAFractionalCapacityRange"
"""On where the components are told that no older ones run beside them."""

PROBABILITY: Final[Mapping[Ingredient, float]] = {
    Ingredient.ADMIN: 0.15,
    Ingredient.ALL: 0.15,
    Ingredient.ALTERNATIVES: 0.4,
    Ingredient.BINDING: 0.2,
    Ingredient.CONFIG: 0.3,
    Ingredient.CONSTRAINTS: 0.35,
    Ingredient.ERRING: 0.12,
    Ingredient.HARD: 0.002,
    Ingredient.HELD: 0.4,
    Ingredient.MISSING: 0.25,
    Ingredient.PARTITIONS: 0.4,
    Ingredient.PER_DEVICE: 0.3,
    Ingredient.RULES: 0.15,
    Ingredient.SELECTORS: 0.5,
    Ingredient.SHARES: 0.4,
    Ingredient.TAINTS: 0.2,
    Ingredient.UNCLEAN: 0.15,
    Ingredient.WIDE: 0.03,
}

ALPHA_PROBABILITY: Final = 0.5
LEFT_OFF_PROBABILITY: Final = 0.08
FEW_GATES_PROBABILITY: Final = 0.03


@dataclass(frozen=True, slots=True)
class Mood:
    """The ingredients of one scenario; `gates` is None for the default ones."""

    ingredients: frozenset[Ingredient]
    gates: tuple[str, ...] | None = None

    def has(self, ingredient: Ingredient) -> bool:
        """Tell whether the scenario is about this, too."""
        return ingredient in self.ingredients


def default_mood(chance: Chance) -> Mood:
    """Draw a scenario for the gates that are on by default."""
    return Mood(_drawn(chance))


def alpha_mood(chance: Chance) -> Mood:
    """Draw a scenario for alpha gates, and for default ones switched off.

    Now and then what an alpha gate brings is stored although its gate is off: so it is after
    the gate was switched off again.
    """
    alphas = [each for each in GATE_OF if chance.maybe(ALPHA_PROBABILITY)]
    gates = [gate for gate in DEFAULT_GATES if not chance.maybe(LEFT_OFF_PROBABILITY)]
    gates += [FRACTIONAL] if chance.maybe(ALPHA_PROBABILITY) else []
    gates += [GATE_OF[each] for each in alphas if not chance.maybe(LEFT_OFF_PROBABILITY)]
    if chance.maybe(FEW_GATES_PROBABILITY):
        gates = chance.some(gates)
    return Mood(_drawn(chance).union(alphas), tuple(gates))


def _drawn(chance: Chance) -> frozenset[Ingredient]:
    drawn = frozenset(each for each, share in PROBABILITY.items() if chance.maybe(share))
    # Nearly every hard search ends at once if something else forbids it.
    return frozenset({Ingredient.HARD}) if Ingredient.HARD in drawn else drawn
