"""Which devices a rule marks: a driver, a pool, a device, or fewer of them."""

from django import forms
from django.http import QueryDict

from dra_console.mirror.models import Cluster, Pool
from dra_console.scheduling.coexistence.managed_devices import DeviceSelector


class DeviceSelectorForm(forms.Form):
    """At least one name; what the cluster does not have yet may be named, too."""

    driver = forms.CharField(required=False, max_length=63, label="Driver")
    pool = forms.CharField(required=False, max_length=253, label="Pool")
    device = forms.CharField(required=False, max_length=63, label="Device")

    def __init__(self, query: QueryDict | None, *, cluster: Cluster) -> None:
        """Offer the names that the cluster has."""
        super().__init__(query)
        pools = Pool.objects.filter(cluster=cluster).order_by("name").values_list("driver", "name")
        self.drivers = sorted({driver for driver, _ in pools})
        self.pools = sorted({name for _, name in pools})
        for name, field in self.fields.items():
            field.widget.attrs |= {
                "class": "input",
                "autocomplete": "off",
                "list": f"known-{name}s",
            }

    def clean(self) -> None:
        """Refuse a selector that would mark every device."""
        super().clean()
        if not self.errors and self.selector().is_empty:
            raise forms.ValidationError(
                "Name a driver, a pool or a device: an empty selector marks every device."
            )

    def selector(self) -> DeviceSelector:
        """Return what was filled in."""
        names = (self.cleaned_data[name].strip() for name in ("driver", "pool", "device"))
        return DeviceSelector(*names)
