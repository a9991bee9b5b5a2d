"""What a token's scope lets through; what its user may do is asked of the cluster."""

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from dra_console.access.models import ApiToken, Scope

WIDER_OR_EQUAL = {
    Scope.READ: frozenset({Scope.READ, Scope.CLAIMS_WRITE, Scope.ADMIN}),
    Scope.CLAIMS_WRITE: frozenset({Scope.CLAIMS_WRITE, Scope.ADMIN}),
    Scope.ADMIN: frozenset({Scope.ADMIN}),
}


class TokenScope(BasePermission):
    """Refuses methods that the token's scope does not cover; sessions have no scope.

    A view whose writes need less than `admin` says so in `write_scope`.
    """

    message = "The token's scope does not cover this request."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken):
            return True
        # An allow-list of methods: one that nobody thought of counts as a write.
        if request.method in SAFE_METHODS:
            return True
        needed: Scope = getattr(view, "write_scope", Scope.ADMIN)
        return token.scope in WIDER_OR_EQUAL[needed]
