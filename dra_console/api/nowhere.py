"""Answers for addresses that do not exist: a problem object, not a page."""

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView


@extend_schema(exclude=True)
class NowhereView(APIView):
    """Refuses every method with 404, and strangers with 401 before that."""

    permission_classes = (IsAuthenticated,)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Refuse, whatever the method, once it is known who asks."""
        super().initial(request, *args, **kwargs)
        raise Http404
