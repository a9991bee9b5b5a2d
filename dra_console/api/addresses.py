"""How addresses name objects; a trailing slash may be left out."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ViewSetMixin

LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
NAME = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
"""DNS subdomains, which all names of Kubernetes objects here are; others are not looked up."""

POOL = rf"{NAME}(?:/{NAME})*"
"""Names of pools may hold slashes; `%2F` and `/` are the same here."""

CLUSTER_SCOPED = rf"(?P<name>{NAME})"
NAMESPACED = rf"(?P<namespace>{LABEL})/(?P<name>{NAME})"
NUMBERED = r"(?P<number>[1-9][0-9]{0,17})"
OF_POOL = rf"(?P<driver>{NAME})/(?P<pool>{POOL})"
OF_DEVICE = rf"(?P<driver>{NAME})/(?P<pool>{POOL})/(?P<device>{LABEL})"


def _part(name: str, description: str, *, pattern: str = NAME) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.PATH, description=description, pattern=f"^{pattern}$"
    )


PATH_PARAMETERS = (
    _part("namespace", "Namespace of the object.", pattern=LABEL),
    _part("name", "Name of the object."),
    _part("number", "Number of the attempt, its `id`.", pattern="[1-9][0-9]{0,17}"),
    _part("driver", "Name of the DRA driver."),
    _part("pool", "Name of the pool.", pattern=POOL),
    _part("device", "Name of the device in its pool.", pattern=LABEL),
)


class ConsoleRouter(SimpleRouter):
    """Takes from each view how its objects are named."""

    def __init__(self) -> None:
        """Make the trailing slash optional."""
        super().__init__()
        self.trailing_slash = "/?"

    def get_lookup_regex(self, viewset: type[ViewSetMixin], lookup_prefix: str = "") -> str:
        del lookup_prefix
        pattern: str = getattr(viewset, "lookup_pattern")  # noqa: B009 - declared by ConsoleViewSet, unknown to the router's types
        return pattern
