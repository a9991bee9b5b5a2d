"""What is committed stands, whether browsers could be told or not."""

import pytest
from channels.layers import channel_layers
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.db import transaction

from dra_console.events import publish_on_commit
from dra_console.mirror.models import Cluster

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_change_that_browsers_cannot_be_told_of_is_committed_and_ends_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_listens = RedisPubSubChannelLayer(hosts=["redis://127.0.0.1:1"])
    monkeypatch.setitem(channel_layers.backends, "default", nobody_listens)
    heard: list[str] = []

    with transaction.atomic():
        Cluster.objects.create(name="test")
        publish_on_commit("claims.1")
        transaction.on_commit(lambda: heard.append("the next listener"))

    assert Cluster.objects.filter(name="test").exists()
    assert heard == ["the next listener"]
    assert "on_commit" in caplog.text
