"""`/healthz`: whether this process can do its work, for load balancers and probes.

Answers without log-in, and so says nothing of addresses or versions.
"""

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

REDIS_TIMEOUT_SECONDS = 1.0


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - the signature of a view
    """Answer 200 while database and Redis answer, else 503; the body names which does not."""
    reachable = {"database": _database_answers(), "redis": _redis_answers()}
    is_healthy = all(reachable.values())
    body = {"status": "ok" if is_healthy else "failing"} | {
        name: "ok" if answers else "no answer" for name, answers in reachable.items()
    }
    return JsonResponse(body, status=200 if is_healthy else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis_answers() -> bool:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
    )
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
