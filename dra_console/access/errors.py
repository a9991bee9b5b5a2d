"""What can go wrong with a person's rights, as far as somebody decides on it."""

from django.core.exceptions import PermissionDenied


class RightsUnknownError(PermissionDenied):
    """The API server could not be asked what this person may do; nothing is shown or done.

    A `PermissionDenied`, so whoever does not handle it refuses. Whoever does answers
    "try again" (HTTP 503) instead of showing an empty list that looks like a fact.
    """


class NoClusterIdentityError(PermissionDenied):
    """The account has no Kubernetes username, so it cannot act on any cluster."""
