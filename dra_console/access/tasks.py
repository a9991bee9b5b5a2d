"""Doors for Celery: what has ended is forgotten."""

from importlib import import_module

from celery import shared_task
from django.conf import settings


@shared_task
def forget_ended_sessions() -> None:
    """Delete sessions that have run out; the database keeps them otherwise."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
