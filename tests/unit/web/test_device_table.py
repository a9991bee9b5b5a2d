import csv
import io

from django.http import QueryDict

from dra_console.mirror.inventory import DeviceState, State
from dra_console.telemetry.readings import DeviceKey
from dra_console.web.forms.device_filter import OFFERED, DeviceFilterForm, device_matcher
from dra_console.web.presenters.device_table import (
    Order,
    columns,
    device_csv,
    device_rows,
    in_order,
)
from tests.unit.web.states import (
    DRIVER,
    RESEARCH,
    a_holder,
    a_reading,
    a_state,
    an_agent,
    live_state,
)

LIVE = live_state(
    an_agent(), gpu_0=a_reading(utilisation_percent=10), gpu_1=a_reading(utilisation_percent=90)
)
STATES = [
    a_state("gpu-0", holders=(a_holder("team-research"),)),
    a_state("gpu-1", holders=(a_holder("team-vision", "secret"),)),
    a_state("gpu-2"),
    a_state("gpu-0", node="l4-01", product="NVIDIA L4", memory_gibibytes=24),
    a_state("gpu-1", node="l4-01", product="NVIDIA L4", state=State.UNAVAILABLE, reason="gone"),
]
ROWS = device_rows(STATES, reader=RESEARCH, live=LIVE)


def ordered(order: Order, *, descending: bool) -> list[DeviceState]:
    return in_order(STATES, order, descending=descending, live=LIVE)


def test_rows_without_a_reading_come_last_in_both_orders() -> None:
    up = [state.key[1:] for state in ordered(Order.UTILISATION, descending=False)]
    down = [state.key[1:] for state in ordered(Order.UTILISATION, descending=True)]

    assert up[:2] == [("gpu-01", "gpu-0"), ("gpu-01", "gpu-1")]
    assert down[:2] == [("gpu-01", "gpu-1"), ("gpu-01", "gpu-0")]
    assert up[2:] == down[2:]


def test_click_on_the_sorted_column_turns_the_order_round() -> None:
    heads = {column.label: column for column in columns("node")}

    assert (heads["Node"].sort, heads["Node"].direction) == ("-node", "ascending")
    assert (heads["Model"].sort, heads["Model"].direction) == ("model", "none")


def csv_rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(device_csv(ROWS))))


def test_csv_leaves_empty_what_is_not_known() -> None:
    row = csv_rows()[2]

    assert (row["device"], row["state"], row["utilisation_percent"]) == ("gpu-2", "free", "")


def test_csv_does_not_name_foreign_claims() -> None:
    assert [row["held_by"] for row in csv_rows()[:2]] == ["team-research/train", "other team"]


def test_csv_cell_that_a_spreadsheet_would_run_is_quoted() -> None:
    rows = device_rows([a_state(product="=HYPERLINK(1)")], reader=RESEARCH, live=LIVE)

    [row] = csv.DictReader(io.StringIO(device_csv(rows)))

    assert row["product"] == "'=HYPERLINK(1)"


def matching(query: str, *, class_keys: set[DeviceKey] | None = None) -> list[DeviceState]:
    form = DeviceFilterForm(QueryDict(query), states=STATES, class_names=["gpu.nvidia.com"])
    matches = device_matcher(form, class_keys=class_keys, reader=RESEARCH, live=LIVE)
    return [state for state in STATES if matches(state)]


def test_empty_filter_shows_everything() -> None:
    assert matching("") == STATES


def test_fields_of_the_filter_narrow_together() -> None:
    assert matching("node=l4-01&state=free") == [STATES[3]]
    assert matching("model=NVIDIA+L4") == STATES[3:]
    assert matching("state=mine") == [STATES[0]]
    assert matching("state=held") == STATES[:2]


def test_state_unknown_finds_held_devices_that_do_not_report_now() -> None:
    silent = live_state(an_agent(age_seconds=60))
    form = DeviceFilterForm(QueryDict("state=unknown"), states=STATES, class_names=[])

    matches = device_matcher(form, class_keys=None, reader=RESEARCH, live=silent)

    assert [state for state in STATES if matches(state)] == STATES[:2]


def test_class_shows_only_what_it_selects() -> None:
    keys = {DeviceKey(DRIVER, "gpu-01", "gpu-2")}

    assert matching("device_class=gpu.nvidia.com", class_keys=keys) == [STATES[2]]


def test_value_that_is_not_on_offer_is_an_error_of_its_field() -> None:
    form = DeviceFilterForm(QueryDict("state=purple"), states=STATES, class_names=[])

    assert not form.is_valid()
    assert "state" in form.errors


def test_the_node_of_a_large_fleet_is_typed_and_a_name_that_is_not_there_is_refused() -> None:
    many = [a_state("gpu-0", node=f"node-{at}") for at in range(OFFERED + 1)]

    known = DeviceFilterForm(QueryDict("node=node-7"), states=many, class_names=())
    unknown = DeviceFilterForm(QueryDict("node=elsewhere"), states=many, class_names=())

    assert known.is_valid()
    assert known.cleaned_data["node"] == "node-7"
    assert unknown.errors["node"] == ["there is no device on a node elsewhere"]
    assert "node-9" not in str(known["node"])
