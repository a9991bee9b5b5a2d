"""Make room for explanations that are kept once; 0007 takes the old column away."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("mirror", "0004_indexes_of_lists"),
        ("scheduling", "0004_conflicts"),
    ]

    operations = [
        migrations.CreateModel(
            name="KeptExplanation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                (
                    "body",
                    models.JSONField(
                        help_text="As `allocator.explanation.folding` shapes it, bounded; `cut` says if it was cut"
                    ),
                ),
                ("size_bytes", models.PositiveIntegerField()),
                ("used_at", models.DateTimeField(help_text="An attempt began to refer to it")),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="mirror.cluster",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "digest"), name="explanation_kept_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TriedClaim",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("claim_uid", models.CharField(max_length=64)),
                (
                    "attempt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="claims",
                        to="scheduling.attempt",
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="mirror.cluster",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["cluster", "claim_uid"], name="tried_claim_uid")],
            },
        ),
        migrations.AddField(
            "attempt",
            "subject_uid",
            models.CharField(
                default="", help_text="Of the pod; without one, of the claim", max_length=64
            ),
        ),
        migrations.AddField(
            "attempt",
            "claim_names",
            models.JSONField(default=list, help_text="All claims, in the pod's order"),
        ),
        migrations.AddField(
            "attempt",
            "signature",
            models.CharField(
                blank=True,
                default="",
                help_text="Equal where the same is asked for; empty: not known",
                max_length=64,
            ),
        ),
        migrations.AddField(
            "attempt",
            "is_newest",
            models.BooleanField(default=True, help_text="Of its pod or claim"),
        ),
        migrations.AddField(
            "attempt",
            "kept",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="attempts",
                to="scheduling.keptexplanation",
            ),
        ),
    ]
