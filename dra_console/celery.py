"""The Celery application; each room's `tasks` module is found by its Django app."""

import os

from celery import Celery

from dra_console.task_expiry import AgedTask

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dra_console.settings")

app = Celery("dra_console", task_cls=AgedTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
