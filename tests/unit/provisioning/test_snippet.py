import json
import shlex
import subprocess

from dra_console.provisioning.manifest import TemplateForm, write_form
from dra_console.provisioning.snippet import curl_command, kubectl_command, pod_yaml
from dra_console.provisioning.yaml_text import parse_yaml


def test_pod_has_one_claim_from_the_template() -> None:
    pod = parse_yaml(pod_yaml("team-research", "train"))

    assert pod["metadata"] == {"name": "train-pod", "namespace": "team-research"}
    assert pod["spec"] == {
        "schedulerName": "dra-console",
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"claims": [{"name": "gpu"}]},
            }
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "train"}],
    }


def test_long_template_name_gives_a_pod_name_that_is_valid() -> None:
    metadata = parse_yaml(pod_yaml("a", "x" * 58 + "-" + "y" * 100))["metadata"]

    assert metadata == {"name": "x" * 58 + "-pod", "namespace": "a"}


def test_kubectl_command_feeds_the_pod_to_kubectl() -> None:
    command = kubectl_command("team-research", "train").replace("kubectl apply -f -", "cat")

    printed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)

    assert printed.stdout == pod_yaml("team-research", "train")


def test_curl_command_survives_the_shell_whatever_is_in_the_template() -> None:
    template = write_form(TemplateForm(name="train", extra_selector='it\'s "$HOME" `id` \\ ü'))
    command = curl_command(
        template, console_url="https://console.example.org/", cluster_name="east"
    )

    words = shlex.split(command.replace("\\\n", " "))

    assert json.loads(words[words.index("--data-raw") + 1]) == template
    assert "https://console.example.org/api/v1/resourceclaimtemplates/?cluster=east" in words
