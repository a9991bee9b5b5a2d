"""Fold stored explanations: one entry a judgement instead of one a device."""

from collections.abc import Mapping
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fold_all(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Fold every explanation that has one row for each device."""
    attempts = apps.get_model("scheduling", "Attempt").objects.using(schema_editor.connection.alias)
    for attempt in attempts.iterator(chunk_size=20):
        if "nodes" in attempt.explanation:
            attempt.explanation = folded(attempt.explanation)
            attempt.save(update_fields=["explanation"])


def folded(explanation: Mapping[str, Any]) -> dict[str, Any]:
    """Write an explanation in the shape of `allocator.explanation.folding`, a group a node."""
    holders: dict[str, dict[str, list[str]]] = {}
    for node in explanation["nodes"]:
        for device in node["devices"]:
            holder = device["holder"]
            if holder is not None:
                claims = holders.setdefault(holder["namespace"], {})
                claims.setdefault(holder["name"], []).append(_name(device))
    kept = {name: value for name, value in explanation.items() if name != "nodes"}
    return kept | {
        "together": None,
        "groups": [_group(node) for node in explanation["nodes"]],
        "holders": holders,
        "suggestions": [{**each, "patches": {}} for each in explanation["suggestions"]],
    }


def _group(node: Mapping[str, Any]) -> dict[str, Any]:
    verdicts: dict[tuple[str, str, str], int] = {}
    for device in node["devices"]:
        verdicts[_said(device)] = verdicts.get(_said(device), 0) + 1
    places = {said: place for place, said in enumerate(verdicts)}
    return {
        "names": [node["name"]] if node["name"] else [],
        "reason": node["reason"],
        "summary": node["summary"],
        "verdicts": [
            {"verdict": verdict, "evidence": evidence, "request": request, "count": count}
            for (verdict, evidence, request), count in verdicts.items()
        ],
        "devices": [_name(device) for device in node["devices"]],
        "judged": [places[_said(device)] for device in node["devices"]],
    }


def _said(device: Mapping[str, Any]) -> tuple[str, str, str]:
    return device["verdict"], device["evidence"], device["request"]


def _name(device: Mapping[str, Any]) -> str:
    return f"{device['driver']}/{device['pool']}/{device['device']}"


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0002_turns")]
    operations = [
        migrations.AlterField(
            model_name="attempt",
            name="explanation",
            field=models.JSONField(
                help_text="As `allocator.explanation.folding` shapes it, bounded"
            ),
        ),
        migrations.RunPython(fold_all, migrations.RunPython.noop, elidable=True),
    ]
