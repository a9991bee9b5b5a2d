"""Which holder of the allocation lease may allocate."""

from django.db import models

from dra_console.mirror.models import Cluster


class Turn(models.Model):
    """A cluster's newest run, by its lease's fence; kept by `scheduling.writing.turns` alone."""

    cluster = models.OneToOneField(
        Cluster, models.CASCADE, primary_key=True, related_name="allocation_turn"
    )
    fence = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"turn {self.fence} of {self.cluster}"
