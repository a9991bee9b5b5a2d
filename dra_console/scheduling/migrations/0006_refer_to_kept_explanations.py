"""Let attempts refer to the explanations that they were stored with, each kept once.

Apart from the schema's changes: PostgreSQL builds no index on a table whose rows the same
transaction has changed.
"""

import hashlib
import json

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def refer(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Take each claim for what its attempts are about, oldest attempt first."""
    using = schema_editor.connection.alias
    attempts = apps.get_model("scheduling", "Attempt").objects.using(using)
    kept = apps.get_model("scheduling", "KeptExplanation").objects.using(using)
    tried = apps.get_model("scheduling", "TriedClaim").objects.using(using)
    newest: dict[tuple[int, str], int] = {}
    for attempt in attempts.order_by("last_at", "pk").iterator(chunk_size=20):
        text = json.dumps(attempt.explanation, sort_keys=True)
        attempt.kept, _ = kept.get_or_create(
            cluster_id=attempt.cluster_id,
            digest=hashlib.sha256(text.encode()).hexdigest(),
            defaults={
                "body": {**attempt.explanation, "cut": ""},
                "size_bytes": len(text),
                "used_at": attempt.last_at,
            },
        )
        attempt.subject_uid = attempt.claim_uid
        attempt.claim_names = [attempt.claim_name]
        attempt.is_newest = False
        attempt.save(update_fields=["kept", "subject_uid", "claim_names", "is_newest"])
        tried.create(attempt=attempt, cluster_id=attempt.cluster_id, claim_uid=attempt.claim_uid)
        newest[attempt.cluster_id, attempt.claim_uid] = attempt.pk
    for pk in newest.values():
        attempts.filter(pk=pk).update(is_newest=True)


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0005_keep_explanations_once")]

    operations = [migrations.RunPython(refer, migrations.RunPython.noop, elidable=True)]
