"""Keep what every pod takes of its node; all pods are listed once more to fill the table."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def list_pods_again(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """A watch alone would tell of those pods only that change."""
    cursors = apps.get_model("mirror", "Cursor")._default_manager  # noqa: SLF001 - Django's documented name
    cursors.filter(plural="pods").update(resource_version="")



class Migration(migrations.Migration):

    dependencies = [
        ('mirror', '0005_changes_by_time'),
    ]

    operations = [
        migrations.CreateModel(
            name='PodUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(max_length=64)),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('resource_version', models.CharField(help_text='Opaque', max_length=64)),
                ('node_name', models.CharField(blank=True, help_text='Empty: not bound', max_length=253)),
                ('is_finished', models.BooleanField(help_text='Takes nothing any more')),
                ('is_mirrored', models.BooleanField(help_text='Has a row as `Pod`, too')),
                ('cpu_milli', models.BigIntegerField()),
                ('memory_bytes', models.BigIntegerField()),
                ('ephemeral_storage_bytes', models.BigIntegerField()),
                ('other_requests', models.JSONField(help_text='Units by resource; null: none', null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='mirror.cluster')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_finished', False), models.Q(('node_name', ''), _negated=True)), fields=['cluster', 'node_name'], name='pod_use_of_node')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'namespace', 'name'), name='pod_use_namespace_name')],
            },
        ),
        migrations.RunPython(list_pods_again, migrations.RunPython.noop),
    ]
