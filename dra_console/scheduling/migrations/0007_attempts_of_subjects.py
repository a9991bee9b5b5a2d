"""Make attempts belong to a pod or a claim that stands alone."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0006_refer_to_kept_explanations")]

    operations = [
        migrations.RemoveField("attempt", "explanation"),
        migrations.AlterField(
            "attempt",
            "kept",
            models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="attempts",
                to="scheduling.keptexplanation",
            ),
        ),
        migrations.AlterField(
            "attempt",
            "subject_uid",
            models.CharField(help_text="Of the pod; without one, of the claim", max_length=64),
        ),
        migrations.AlterField(
            "attempt",
            "signature",
            models.CharField(
                blank=True,
                help_text="Equal where the same is asked for; empty: not known",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            "attempt",
            "claim_uid",
            models.CharField(blank=True, help_text="Of the first claim", max_length=64),
        ),
        migrations.AlterField(
            "attempt",
            "claim_name",
            models.CharField(
                blank=True, help_text="First claim; empty: none is made yet", max_length=253
            ),
        ),
        migrations.AlterField(
            "attempt",
            "outcome",
            models.CharField(
                choices=[
                    ("fits", "Fits"),
                    ("does-not-fit", "Does not fit now"),
                    ("broken", "The input is broken"),
                    ("budget", "Search ended by its step budget"),
                    ("waits", "Waits for something else"),
                ],
                max_length=16,
            ),
        ),
        migrations.RemoveIndex("attempt", "attempt_of_claim"),
        migrations.AddIndex(
            "attempt", models.Index(fields=["cluster", "subject_uid"], name="attempt_of_subject")
        ),
        migrations.AddIndex(
            "attempt",
            models.Index(
                condition=models.Q(("is_newest", True)),
                fields=["cluster", "namespace"],
                name="attempt_newest",
            ),
        ),
    ]
