"""An answer as JSON, for one reader: what they may not see is counted and not named.

Equal scenarios on equal states give equal reports, whatever was asked before; so how nodes were
folded on the way is left out.
"""

from dataclasses import replace
from typing import Final

from dra_console.access.redaction import redacted
from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.explanation.explanation import Explanation
from dra_console.scheduling.whatif.answering import Answer
from dra_console.scheduling.whatif.fitting import Added, Fit, Places
from dra_console.scheduling.whatif.fragments import Fragments
from dra_console.scheduling.whatif.impact import impact_json
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario, token_of

NODES_NAMED: Final = 500
"""Of nodes that are alike; all are counted."""


def pinned(answer: Answer) -> Scenario:
    """Return the scenario with the state that it was answered on."""
    return replace(answer.scenario, snapshot=answer.chosen.state.id)


def report_of(answer: Answer, *, rights: Rights) -> JsonObject:
    """Write an answer."""
    scenario = pinned(answer)
    state = answer.chosen.state
    return {
        "snapshot": {
            "id": state.id,
            "readAt": state.read_at.isoformat(),
            "isCurrent": answer.chosen.is_current,
            "isSubstitute": answer.chosen.is_substitute,
        },
        "scenario": scenario.to_json(),
        "token": token_of(scenario),
        "today": fit_json(answer.today, rights=rights),
        "then": fit_json(answer.then, rights=rights),
        "effects": [
            {
                "edit": impact.effect.edit.to_json(),
                "impact": impact_json(impact),
                "added": added_json(answer.added[number]) if number in answer.added else None,
            }
            for number, impact in enumerate(answer.impacts)
        ],
        "fragments": {
            "today": fragments_json(answer.fragments_today, rights=rights),
            "then": fragments_json(answer.fragments, rights=rights),
        },
    }


def fit_json(fit: Fit | None, *, rights: Rights) -> Json:
    """Write how often a pod fits, where, and what stands against one more."""
    if fit is None:
        return None
    return {
        "count": fit.count,
        "isLowerBound": fit.is_lower_bound,
        "places": [_places_json(each) for each in fit.places],
        "oneMore": None if fit.explanation is None else _reason(fit.explanation, rights),
    }


def added_json(added: Added) -> JsonObject:
    """Write where pods went that a scenario adds."""
    return {
        "wanted": added.wanted,
        "count": added.count,
        "places": [_places_json(each) for each in added.places],
        "stopped": added.stopped,
    }


def fragments_json(fragments: Fragments, *, rights: Rights) -> JsonObject:
    """Write what is free and of no use to any template."""
    shapes = [
        [names for names in shape if rights.sees_templates(names[0])] for shape in fragments.shapes
    ]
    hidden = sum(not shape for shape in shapes)
    return {
        "freeDevices": fragments.free,
        "devicesLeft": fragments.devices_left,
        "boardsLeft": fragments.boards_left,
        "isUpperBound": fragments.is_upper_bound,
        "nodesNotLookedAt": fragments.unread_nodes,
        "left": [
            {
                **_names_json(each.nodes),
                "isShared": each.is_shared,
                "devices": [*each.devices],
                "partitions": {board: [*names] for board, names in each.partitions.items()},
            }
            for each in fragments.left
        ],
        "templates": [["/".join(names) for names in shape] for shape in shapes if shape],
        "templatesOfOthers": hidden,
        "specsNotLookedAt": fragments.unread_shapes,
        "templatesNotTried": [
            "/".join(names) for names in fragments.broken if rights.sees_templates(names[0])
        ],
    }


def _reason(explanation: Explanation, rights: Rights) -> JsonObject:
    told = redacted(explanation.to_json(most_devices=0), namespaces=rights.claims)
    return {name: told[name] for name in ("outcome", "headline", "detail", "funnel", "suggestions")}


def _places_json(places: Places) -> JsonObject:
    return {"each": places.each, **_names_json(places.nodes)}


def _names_json(nodes: tuple[str, ...]) -> JsonObject:
    return {"nodes": [*nodes[:NODES_NAMED]], "nodeCount": len(nodes)}
