"""Request a GPU: a form beside the template that it writes, each following the other."""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_http_methods

from dra_console.access import rules
from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES
from dra_console.mirror.models import Cluster, Namespace
from dra_console.provisioning import submit
from dra_console.provisioning.checks import Finding, check_template
from dra_console.provisioning.choices import ClassChoice, class_choices
from dra_console.provisioning.errors import ManifestError
from dra_console.provisioning.manifest import TemplateForm, read_form, write_form
from dra_console.provisioning.presets import Preset, presets
from dra_console.provisioning.snippet import curl_command
from dra_console.provisioning.yaml_text import dump_yaml, parse_yaml
from dra_console.scheduling.whatif.preview import preview
from dra_console.web.cluster_page import on_cluster, person_of
from dra_console.web.forms.request_form import FieldProblem, merged, read_submission
from dra_console.web.presenters.request_page import (
    Verdict,
    class_options,
    messages_by_field,
    model_options,
    together_options,
    verdict_of,
    warnings_of,
)

DEFAULT_NAME = "my-gpu"


@dataclass(frozen=True, slots=True)
class _Draft:
    """The form and the template at one moment; `yaml` is what the person sees beside it."""

    values: TemplateForm
    template: JsonObject | None
    """None while the YAML cannot be read."""

    yaml: str
    not_shown: tuple[str, ...] = ()
    problems: tuple[FieldProblem, ...] = ()
    yaml_error: str = ""
    shown_yaml: str = ""
    """The template that form and YAML agreed on last, for telling what either side changed."""


@require_http_methods(["GET", "HEAD", "POST"])
@on_cluster
def request_gpu(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """Show the form, let form and YAML follow each other, and create the template."""
    choices = class_choices(cluster)
    offered = presets(choices)
    namespaces = _namespaces(request, cluster)
    if request.method == "POST":
        draft = _draft_of(request, choices)
    else:
        draft = _fresh_draft(request, offered, choices=choices, namespaces=namespaces)
    findings = check_template(cluster, draft.template) if draft.template is not None else ()
    if request.POST.get("act") == "create" and draft.template is not None:
        answer = _create(request, cluster, draft, findings=findings)
        if isinstance(answer, HttpResponse):
            return answer
        findings = answer
    context = _context(request, cluster, draft, choices=choices, offered=offered, findings=findings)
    context["namespaces"] = namespaces
    is_part = "HX-Request" in request.headers
    return render(request, "web/_request_body.html" if is_part else "web/request.html", context)


def _fresh_draft(
    request: HttpRequest,
    offered: tuple[Preset, ...],
    *,
    choices: tuple[ClassChoice, ...],
    namespaces: list[str],
) -> _Draft:
    wanted = request.GET.get("preset", "")
    preset = next((one for one in offered if one.slug == wanted), None)
    first_class = next((choice.name for choice in choices if choice.total), "")
    values = preset.values if preset else TemplateForm(device_class_name=first_class)
    values = replace(
        values,
        name=request.GET.get("name", f"{preset.slug}-gpu" if preset else DEFAULT_NAME),
        namespace=next(iter(namespaces), ""),
    )
    template = write_form(values)
    yaml = dump_yaml(template)
    return _Draft(values, template, yaml, shown_yaml=yaml)


def _draft_of(request: HttpRequest, choices: tuple[ClassChoice, ...]) -> _Draft:
    """Bring form and YAML together again, whichever of them was changed."""
    text = request.POST.get("yaml", "").replace("\r\n", "\n")
    shown_yaml = request.POST.get("shown_yaml", "").replace("\r\n", "\n")
    shown = _values_in(shown_yaml)
    submission = read_submission(request.POST, choices=choices, shown=shown)
    is_yaml_changed = request.POST.get("changed") == "yaml"
    try:
        base = parse_yaml(text) if text.strip() or is_yaml_changed else None
        written = read_form(base).values if base is not None else shown
        # Whoever edits the YAML looks at it: it is not to change under their hands.
        form = shown if is_yaml_changed else submission.values
        values = merged(shown=shown, form=form, yaml=written)
        template = write_form(values, base=base)
        not_shown = read_form(template).not_shown
    except (ManifestError, AllocatorError) as error:
        message = str(error)
        if not is_yaml_changed:
            message = f"{error}. The form does not overwrite YAML that it cannot read."
        return _Draft(
            submission.values,
            None,
            text,
            problems=submission.problems,
            yaml_error=message,
            shown_yaml=shown_yaml,
        )
    # What somebody wrote stays as they wrote it, comments too, until the form changes it.
    yaml = text if base is not None and values == written else dump_yaml(template)
    problems = () if is_yaml_changed else submission.problems
    return _Draft(values, template, yaml, not_shown, problems, shown_yaml=yaml)


def _values_in(yaml: str) -> TemplateForm:
    """Read what the form showed of a template; nothing of one that cannot be read."""
    try:
        return read_form(parse_yaml(yaml)).values
    except (ManifestError, AllocatorError):
        return TemplateForm()


def _create(
    request: HttpRequest, cluster: Cluster, draft: _Draft, *, findings: tuple[Finding, ...]
) -> HttpResponse | tuple[Finding, ...]:
    """Create the template unless something is wrong with it; then say what."""
    template = draft.template
    if template is None or draft.problems or messages_by_field(findings, ()):
        return findings
    outcome = submit.create_template(person_of(request), cluster, template, dry_run=False)
    if isinstance(outcome, submit.Refused):
        messages.error(request, f"The API server refused it: {outcome.message}")
        return (*findings, *outcome.findings)
    messages.success(request, f"Template {outcome.name} is created.")
    location = redirect("web:template", draft.values.namespace, outcome.name)
    if "HX-Request" not in request.headers:
        return location
    return HttpResponse(headers={"HX-Redirect": location.url})


def _context(  # noqa: PLR0913 - what one page draws
    request: HttpRequest,
    cluster: Cluster,
    draft: _Draft,
    *,
    choices: tuple[ClassChoice, ...],
    offered: tuple[Preset, ...],
    findings: tuple[Finding, ...],
) -> dict[str, Any]:
    values = draft.values
    chosen = next((one for one in choices if one.name == values.device_class_name), None)
    errors = messages_by_field(findings, draft.problems)
    can_be_tried = draft.template is not None and not errors
    return {
        "values": values,
        "memory": _memory_text(request, draft),
        "presets": offered,
        "preset": request.GET.get("preset", ""),
        "class_options": class_options(choices, chosen=values.device_class_name),
        "model_options": model_options(choices, values=values),
        "together_options": together_options(chosen, chosen=values.keep_together),
        "chosen_class": chosen,
        "yaml": draft.yaml,
        "shown_yaml": draft.shown_yaml,
        "yaml_error": draft.yaml_error,
        "not_shown": draft.not_shown,
        "errors": errors,
        "warnings": warnings_of(findings),
        "verdict": _verdict(cluster, draft.template) if can_be_tried else None,
        "curl": curl_command(
            draft.template,
            console_url=request.build_absolute_uri("/"),
            cluster_name=cluster.name,
        )
        if draft.template is not None
        else "",
    }


def _memory_text(request: HttpRequest, draft: _Draft) -> str:
    """Give back what was typed where it cannot be read."""
    if any(problem.field == "memory" for problem in draft.problems):
        return request.POST.get("memory", "")
    return draft.values.memory.least if draft.values.memory else ""


def _verdict(cluster: Cluster, template: JsonObject | None) -> Verdict | None:
    spec = template.get("spec") if template else None
    claim_spec = spec.get("spec") if isinstance(spec, dict) else None
    if not isinstance(claim_spec, dict):
        return None
    try:
        return verdict_of(preview(cluster, claim_spec))
    except AllocatorError as error:
        return Verdict(tone="sick", word="cannot be tried", text=str(error), advice=())


def _namespaces(request: HttpRequest, cluster: Cluster) -> list[str]:
    """Name the namespaces in which the person may create templates."""
    names = Namespace.objects.filter(cluster=cluster).values_list("name", flat=True)
    return [
        name
        for name in names
        if rules.may(request.user, cluster, "create", RESOURCE_CLAIM_TEMPLATES, namespace=name)
    ]


routes = [path("request/", request_gpu, name="request")]
