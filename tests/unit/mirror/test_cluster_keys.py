import pytest
from django.db import transaction

from dra_console.mirror.models import Cluster

pytestmark = pytest.mark.django_db


def test_the_key_of_a_cluster_is_not_given_out_again_even_after_a_rollback() -> None:
    """Much is kept by such keys, and tests end by a rollback: see `tests/conftest.py`."""
    with transaction.atomic():
        taken_back = Cluster.objects.create(name="first").pk
        transaction.set_rollback(True)

    assert not Cluster.objects.exists()
    assert Cluster.objects.create(name="second").pk != taken_back
