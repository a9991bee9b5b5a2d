"""The colours a person chose; kept in the profile, or in the session where there is none.

A plain form, so it works without scripts. `system` leaves the choice to the browser.
"""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dra_console.access.models import Profile, Theme

SESSION_KEY = "theme"

ICONS = {Theme.SYSTEM: "device-desktop", Theme.LIGHT: "sun", Theme.DARK: "moon"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the colours on offer."""

    value: str
    label: str
    icon: str
    is_chosen: bool


def theme_of(request: HttpRequest) -> Theme:
    """Read the colours chosen; error pages may come without a session or user."""
    user = getattr(request, "user", None)
    if user is None:
        return Theme.SYSTEM
    profile = None if user.is_anonymous else Profile.of(user)
    if profile is not None:
        return Theme(profile.theme)
    return Theme(request.session.get(SESSION_KEY, Theme.SYSTEM))


def choices(chosen: Theme) -> list[Choice]:
    """List what can be chosen."""
    return [
        Choice(value=theme.value, label=theme.label, icon=ICONS[theme], is_chosen=theme is chosen)
        for theme in Theme
    ]


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the colours named by field `theme` and return to the page named by `next`."""
    try:
        chosen = Theme(request.POST.get("theme", ""))
    except ValueError:
        expected = ", ".join(repr(str(theme)) for theme in Theme)
        return HttpResponseBadRequest(f"theme: expected one of {expected}")
    if not Profile.objects.filter(user=request.user.pk).update(theme=chosen):
        request.session[SESSION_KEY] = chosen.value
    return redirect(_own_address(request, request.POST.get("next", "/")))


def _own_address(request: HttpRequest, address: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if is_ours else "/"
