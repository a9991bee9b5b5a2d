"""The devices board, its table twin and CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dra_console import events
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.inventory import DeviceState, device_states
from dra_console.mirror.models import Cluster, DeviceClass
from dra_console.mirror.tallies import PoolNumbers, pool_numbers
from dra_console.web.class_match import device_keys_of_class
from dra_console.web.cluster_page import on_cluster, require_list
from dra_console.web.forms.device_filter import DeviceFilterForm, device_matcher
from dra_console.web.presenters.boards import NodeRow, node_names_of, node_rows
from dra_console.web.presenters.device_table import (
    DeviceRow,
    Order,
    columns,
    device_csv,
    device_rows,
    in_order,
)
from dra_console.web.presenters.live_state import LiveState, read_live_state, used_of
from dra_console.web.presenters.reader import Reader, reader_of
from dra_console.web.presenters.sum_bar import sum_bar_of

Entry = TypeVar("Entry")

NODES_A_PAGE = 40
DEVICES_A_PAGE = 200


@dataclass(frozen=True, slots=True)
class _Inventory:
    """All devices of a cluster, those that the filter leaves, and for whom."""

    states: list[DeviceState]
    shown: list[DeviceState]
    form: DeviceFilterForm
    reader: Reader
    live: LiveState


@require_safe
@vary_on_headers("HX-Request")
@on_cluster
def devices(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Show the board, or with `view=table` the table; htmx gets the parts that change."""
    inventory = _read_inventory(request, cluster)
    pools = pool_numbers(cluster, states=inventory.states)
    is_table = request.GET.get("view") == "table"
    context = {
        "form": inventory.form,
        "bar": sum_bar_of(
            inventory.shown,
            reader=inventory.reader,
            is_lower_bound=any(pool.is_lower_bound for pool in pools),
        ),
        "used": used_of(inventory.shown, live=inventory.live),
        "has_devices": bool(inventory.states),
        "is_table": is_table,
        "columns": columns(request.GET.get("sort", "")) if is_table else (),
        "devices_topic": events.devices_topic(cluster.pk),
    }
    page, rows = (
        _table_page(request, inventory) if is_table else _board_page(request, inventory, pools)
    )
    nodes = sorted({row.node_name for row in rows} - {""})
    context |= {
        "page": page,
        "rows": rows,
        "telemetry_topics": " ".join(events.telemetry_topic(cluster.pk, node) for node in nodes),
    }
    template = "web/_devices_update.html" if "HX-Request" in request.headers else "web/devices.html"
    return render(request, template, context)


@require_safe
@on_cluster
def devices_csv(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Send the filtered devices as CSV, all pages of them."""
    inventory = _read_inventory(request, cluster)
    if not inventory.form.is_valid():
        return HttpResponseBadRequest(inventory.form.errors.as_text(), content_type="text/plain")
    rows = device_rows(inventory.shown, reader=inventory.reader, live=inventory.live)
    return HttpResponse(
        device_csv(rows),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="devices-{cluster.name}.csv"'},
    )


def _read_inventory(request: HttpRequest, cluster: Cluster) -> _Inventory:
    require_list(request, cluster, RESOURCE_SLICES)
    reader = reader_of(request.user, cluster)
    live = read_live_state(cluster.pk, now=timezone.now())
    states = device_states(cluster)
    classes = DeviceClass.objects.filter(cluster=cluster).values_list("name", flat=True)
    form = DeviceFilterForm(request.GET, states=states, class_names=classes)
    form.is_valid()
    class_name = form.cleaned_data.get("device_class")
    matches = device_matcher(
        form,
        class_keys=device_keys_of_class(cluster, class_name) if class_name else None,
        reader=reader,
        live=live,
    )
    # A partition that overlaps with what is counted would show the same silicon twice.
    shown = [one for one in states if (one.counts or not one.device.parent) and matches(one)]
    return _Inventory(states=states, shown=shown, form=form, reader=reader, live=live)


def _board_page(
    request: HttpRequest, inventory: _Inventory, pools: list[PoolNumbers]
) -> tuple[Page[str], Sequence[NodeRow]]:
    page = _page_of(node_names_of(inventory.shown), request=request, length=NODES_A_PAGE)
    rows = node_rows(
        inventory.states,
        node_names=page.object_list,
        shown=inventory.shown,
        reader=inventory.reader,
        live=inventory.live,
        pools=pools,
    )
    return page, rows


def _table_page(
    request: HttpRequest, inventory: _Inventory
) -> tuple[Page[DeviceState], Sequence[DeviceRow]]:
    sort = request.GET.get("sort", "")
    name = sort.removeprefix("-")
    states = in_order(
        inventory.shown,
        Order(name) if name in tuple(Order) else Order.DEVICE,
        descending=sort.startswith("-"),
        live=inventory.live,
    )
    page = _page_of(states, request=request, length=DEVICES_A_PAGE)
    return page, device_rows(page.object_list, reader=inventory.reader, live=inventory.live)


def _page_of(entries: Sequence[Entry], *, request: HttpRequest, length: int) -> Page[Entry]:
    return Paginator(entries, length).get_page(request.GET.get("page"))


routes = [
    path("devices/", devices, name="devices"),
    path("devices.csv", devices_csv, name="devices-csv"),
]
