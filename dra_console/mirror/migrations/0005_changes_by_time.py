"""Find what changed in a cluster between two moments; built beside writers, as in 0004."""

from django.db import migrations, models

from dra_console.mirror.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("mirror", "0004_indexes_of_lists")]

    operations = [
        AddIndexOnline(
            model_name="objectchange",
            index=models.Index(fields=["cluster", "seen_at"], name="change_by_time"),
        ),
    ]
