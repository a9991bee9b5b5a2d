"""The request form: form and YAML follow each other, and neither loses what the other holds."""

import html
import re
from collections.abc import Mapping

import pytest
from django.test import Client

from dra_console.allocator.decoding.decode import decode_template
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIM_TEMPLATES
from tests.builders.objects import a_namespace, unborn
from tests.integration.served_cluster import ServedCluster

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cluster")]

PRODUCT = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA {}"'


def fields_of(page: str) -> dict[str, str]:
    """Read what a browser would send of the form, as if nothing had been touched."""
    sent = {}
    for tag in re.findall(r"<input[^>]*>", page.partition('id="request-body"')[2]):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        is_sent = attributes.get("type") != "radio" or re.search(r"\schecked\b", tag)
        if is_sent and "name" in attributes:
            sent[attributes["name"]] = html.unescape(attributes.get("value", ""))
    for name, inner in re.findall(
        r'<select[^>]*?name="(\w+)"[^>]*>(.*?)</select>', page, re.DOTALL
    ):
        options = re.findall(r'<option value="([^"]*)"\s*(selected)?', inner)
        sent[name] = next((value for value, chosen in options if chosen), options[0][0])
    for name, inner in re.findall(
        r'<textarea[^>]*?name="(\w+)"[^>]*>(.*?)</textarea>', page, re.DOTALL
    ):
        sent[name] = html.unescape(inner)
    return sent


def opened(client: Client) -> dict[str, str]:
    return fields_of(client.get("/request/").content.decode())


def answered(client: Client, sent: Mapping[str, str], changed: str) -> dict[str, str]:
    response = client.post(
        "/request/", {**sent, "changed": changed}, headers={"HX-Request": "true"}
    )
    return fields_of(response.content.decode())


def with_selector(yaml: str, expression: str) -> str:
    return (
        f"{yaml}          selectors:\n          - cel:\n              expression: '{expression}'\n"
    )


def test_form_writes_itself_into_the_yaml(as_researcher: Client) -> None:
    sent = opened(as_researcher)

    assert "count: 2" in answered(as_researcher, {**sent, "count": "2"}, "form")["yaml"]


def test_yaml_that_is_edited_just_before_create_is_what_is_created(
    as_researcher: Client, served: ServedCluster
) -> None:
    served.client.create(NAMESPACES, unborn(a_namespace("team-research")))
    sent = opened(as_researcher)
    sent["yaml"] = sent["yaml"].replace("my-gpu", "by-hand")

    as_researcher.post("/request/", {**sent, "act": "create"})

    made = served.client.list(RESOURCE_CLAIM_TEMPLATES, namespace="team-research").items
    assert [decode_template(one).name for one in made] == ["by-hand"]


def test_form_and_yaml_that_change_at_once_both_hold(as_researcher: Client) -> None:
    sent = opened(as_researcher)
    sent["yaml"] = sent["yaml"].replace("my-gpu", "by-hand")

    answer = answered(as_researcher, {**sent, "count": "2"}, "form")

    assert answer["name"] == "by-hand"
    assert "name: by-hand" in answer["yaml"]
    assert "count: 2" in answer["yaml"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("gpu.nvidia.com", "gone.example.com"),
        ("namespace: team-research", "namespace: team-vision"),
    ],
)
def test_what_the_form_does_not_offer_stays_in_the_yaml(
    as_researcher: Client, before: str, after: str
) -> None:
    sent = opened(as_researcher)
    edited = answered(as_researcher, {**sent, "yaml": sent["yaml"].replace(before, after)}, "yaml")

    answer = answered(as_researcher, {**edited, "count": "2"}, "form")

    assert after in answer["yaml"]


def test_model_that_no_device_has_stays_chosen(as_researcher: Client) -> None:
    sent = opened(as_researcher)
    yaml = with_selector(sent["yaml"], PRODUCT.format("B200"))
    edited = answered(as_researcher, {**sent, "yaml": yaml}, "yaml")

    answer = answered(as_researcher, {**edited, "count": "2"}, "form")

    assert edited["product"].endswith("B200")
    assert "B200" in answer["yaml"]


def test_comment_stays_while_the_form_does_not_change_the_template(as_researcher: Client) -> None:
    sent = opened(as_researcher)
    yaml = f"# for the course\n{sent['yaml']}"

    edited = answered(as_researcher, {**sent, "yaml": yaml}, "yaml")

    assert edited["yaml"].strip() == yaml.strip()


def test_yaml_that_cannot_be_read_is_kept_and_counts_again_once_repaired(
    as_researcher: Client,
) -> None:
    sent = opened(as_researcher)
    broken = answered(as_researcher, {**sent, "yaml": "spec: ["}, "yaml")
    ignored = answered(as_researcher, {**broken, "count": "2"}, "form")

    repaired = answered(as_researcher, {**ignored, "yaml": sent["yaml"]}, "yaml")

    assert (broken["yaml"], ignored["yaml"]) == ("spec: [", "spec: [")
    assert (repaired["yaml"], repaired["count"]) == (sent["yaml"], "1")


@pytest.mark.parametrize("count", ["", "0", "-1", "two"])
def test_count_that_is_no_number_of_devices_is_refused_at_its_field(
    as_researcher: Client, count: str
) -> None:
    sent = opened(as_researcher)

    response = as_researcher.post("/request/", {**sent, "count": count, "act": "create"})

    assert response.status_code == 200
    assert "field-error" in response.content.decode()


def test_memory_that_cannot_be_read_stays_in_its_field_with_the_reason(
    as_researcher: Client,
) -> None:
    sent = opened(as_researcher)

    response = as_researcher.post(
        "/request/", {**sent, "memory": "lots"}, headers={"HX-Request": "true"}
    )

    text = response.content.decode()
    assert fields_of(text)["memory"] == "lots"
    assert "field-error" in text
