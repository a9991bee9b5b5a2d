"""What `deploy/node-agent` says fits together, and fits the agent."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from nodeagent.commands.rights import Right, needed_rights
from nodeagent.config import Config, parse
from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import PROFILES, gpus
from nodeagent.kubelet.liveness import READINESS
from nodeagent.publish.attributes import attributes_of
from nodeagent.publish.features import Shape
from tests.deployment import FOLDER, kustomization, manifests, the

ROOT = Path(__file__).parents[3]
REGISTRIES = re.compile(r"pypi|pythonhosted|npmjs|crates\.io", re.IGNORECASE)


def account() -> tuple[str, str]:
    metadata = the("ServiceAccount")["metadata"]
    return metadata["namespace"], metadata["name"]


def pod_spec() -> dict[str, Any]:
    spec: dict[str, Any] = the("DaemonSet")["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    (only,) = pod_spec()["containers"]
    assert isinstance(only, dict)
    return only


def arguments() -> list[str]:
    values = {"NODE_NAME": "gpu-01", "POD_UID": "8c1d6e34-0000-4000-8000-000000000001"}
    words = [re.sub(r"\$\((\w+)\)", lambda m: values[m[1]], one) for one in container()["args"]]
    assert {one["name"] for one in container()["env"]} >= set(values)
    return words


def config() -> Config:
    return parse(arguments())


def test_pods_rights_and_admission_name_the_same_account() -> None:
    namespace, name = account()
    daemonset = the("DaemonSet")
    (subject,) = the("ClusterRoleBinding")["subjects"]
    (condition,) = the("ValidatingAdmissionPolicy")["spec"]["matchConditions"]

    assert (daemonset["metadata"]["namespace"], pod_spec()["serviceAccountName"]) == account()
    assert subject == {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    assert condition["expression"] == (
        f'request.userInfo.username == "system:serviceaccount:{namespace}:{name}"'
    )
    assert the("Namespace")["metadata"]["name"] == namespace
    assert not {"namespace", "namePrefix", "nameSuffix"} & kustomization().keys()


def test_the_console_knows_the_account_and_the_audience_of_its_token() -> None:
    settings = (ROOT / "docs/settings.md").read_text()
    (projected,) = (one["projected"] for one in pod_spec()["volumes"] if "projected" in one)
    (source,) = projected["sources"]

    username = f"system:serviceaccount:{':'.join(account())}"
    audience = source["serviceAccountToken"]["audience"]
    assert f"| `DRA_CONSOLE_AGENT_USERNAME` | `{username}` |" in settings
    assert f"| `DRA_CONSOLE_AGENT_TOKEN_AUDIENCE` | `{audience}` |" in settings


def test_roles_and_policies_are_bound_by_their_names() -> None:
    policy = the("ValidatingAdmissionPolicy")
    binding = the("ValidatingAdmissionPolicyBinding")["spec"]

    assert the("ClusterRoleBinding")["roleRef"]["name"] == the("ClusterRole")["metadata"]["name"]
    assert binding == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}


def test_the_policy_holds_for_every_version_and_every_write_and_fails_closed() -> None:
    spec = the("ValidatingAdmissionPolicy")["spec"]
    (rule,) = spec["matchConstraints"]["resourceRules"]

    assert spec["failurePolicy"] == "Fail"
    assert rule["apiVersions"] == ["*"]
    assert set(rule["operations"]) == {"CREATE", "UPDATE", "DELETE"}
    assert rule["resources"] == ["resourceslices"]


def test_the_driver_has_one_name_everywhere() -> None:
    driver = config().driver
    policy = str(the("ValidatingAdmissionPolicy")["spec"]["validations"])
    classes = [one for one in manifests() if one["kind"] == "DeviceClass"]
    named = [rule.get("resourceNames") for rule in the("ClusterRole")["rules"]]

    assert f'spec.driver == "{driver}"' in policy
    assert [driver] in named
    for one in classes:
        (selector,) = one["spec"]["selectors"]
        assert f'device.driver == "{driver}"' in selector["cel"]["expression"]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_device_is_of_one_of_the_classes(profile: str) -> None:
    types = {
        re.search(r'\.type == "(\w+)"', one["spec"]["selectors"][0]["cel"]["expression"])[1]  # type: ignore[index]
        for one in manifests()
        if one["kind"] == "DeviceClass"
    }
    inventory = Inventory.of(gpus(profile, node_name="gpu-01"), source=Source.SIMULATED)

    published = [
        dict(attributes_of(device, source=Source.SIMULATED, shape=Shape()))["type"]
        for device in inventory.devices
    ]

    assert all(one in [{"string": kind} for kind in types] for one in published)


def test_the_agent_takes_the_arguments_and_what_it_writes_is_mounted_alike() -> None:
    mounts = {one["name"]: one for one in container()["volumeMounts"]}
    named = {one["name"] for one in pod_spec()["volumes"]}
    volumes = {
        one["name"]: one["hostPath"]["path"] for one in pod_spec()["volumes"] if "hostPath" in one
    }
    alike = {
        one["mountPath"] for name, one in mounts.items() if one["mountPath"] == volumes.get(name)
    }

    assert mounts.keys() == named
    assert {
        str(config().registry_directory),
        str(config().plugin_directory.parent),
        str(config().cdi_directory),
    } <= alike
    assert mounts["plugins"]["mountPropagation"] == "Bidirectional"
    (driver_root,) = (
        one
        for one in mounts.values()
        if config().driver_root.mounted.is_relative_to(one["mountPath"]) and one["mountPath"] != "/"
    )
    assert driver_root["mountPropagation"] == "HostToContainer"


def test_the_agent_comes_first_and_is_drained_last() -> None:
    spec = pod_spec()

    assert spec["priorityClassName"] == "system-node-critical"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["hostPID"] is True


def test_an_update_starts_the_new_agent_beside_the_old_one_and_probes_the_same_port() -> None:
    update = the("DaemonSet")["spec"]["updateStrategy"]["rollingUpdate"]
    (port,) = (one["containerPort"] for one in container()["ports"])

    assert update == {"maxSurge": 1, "maxUnavailable": 0}
    assert config().pod_uid is not None
    assert config().health_port == port
    # On the host's network two agents could not have one port.
    assert "hostNetwork" not in pod_spec()
    for probe, patience_seconds in (("startupProbe", 600), ("livenessProbe", 90)):
        grpc = container()[probe]["grpc"]
        assert (grpc["port"], grpc["service"]) in {(port, ""), (port, "liveness")}
        period, failures = (
            container()[probe][key] for key in ("periodSeconds", "failureThreshold")
        )
        assert period * failures == patience_seconds
    assert container()["readinessProbe"]["grpc"] == {"port": port, "service": READINESS}


def test_the_check_asks_for_every_right_that_the_role_grants_and_for_no_other() -> None:
    granted = {
        Right(group, resource, verb, name)
        for rule in the("ClusterRole")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    config = parse([*arguments(), "--device-status"])

    assert set(needed_rights(config, server=(1, 36))) == granted
    assert set(needed_rights(config, server=None)) == granted


def test_an_older_server_is_not_asked_for_what_it_does_not_know() -> None:
    config = parse([*arguments(), "--device-status"])

    assert not [one for one in needed_rights(config, server=(1, 35)) if "node:" in one.verb]


def test_nothing_but_its_own_directories_is_written_on_the_host() -> None:
    of_host = {one["name"] for one in pod_spec()["volumes"] if "hostPath" in one}
    writable = {
        one["mountPath"]: one["name"] in of_host
        for one in container()["volumeMounts"]
        if not one.get("readOnly", False)
    }

    assert writable == {
        "/var/lib/kubelet/plugins_registry": True,
        "/var/lib/kubelet/plugins": True,
        "/var/run/cdi": True,
        "/dev": True,
        "/tmp": False,  # noqa: S108 - of the pod alone
    }
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    # By default kubelet has the file made below /dev, which here is the host's.
    assert container()["terminationMessagePath"].startswith("/tmp/")  # noqa: S108


def test_an_uninstall_by_label_takes_everything_but_the_namespace() -> None:
    labels = the("DaemonSet")["metadata"]["labels"]

    assert [one["kind"] for one in manifests() if one["metadata"].get("labels") != labels] == [
        "Namespace"
    ]


def test_an_image_that_was_loaded_on_the_node_is_taken() -> None:
    assert container()["imagePullPolicy"] == "IfNotPresent"


def test_an_agent_that_only_watches_is_deployed_without_rights_and_classes() -> None:
    watching = FOLDER.parent / "node-agent-telemetry"
    overlay = yaml.safe_load((watching / "kustomization.yaml").read_text())
    flags, taken = overlay["patches"]
    added = [one["value"] for one in yaml.safe_load(flags["patch"])]
    mounts = {one["name"]: one["mountPath"] for one in container()["volumeMounts"]}

    assert overlay["resources"] == [f"../{FOLDER.name}"]
    assert yaml.safe_load(taken["patch"])["$patch"] == "delete"
    left = {
        one["kind"] for one in manifests() if not re.fullmatch(taken["target"]["kind"], one["kind"])
    }
    assert left == {"Namespace", "ServiceAccount", "DaemonSet"}
    config = parse([*arguments(), *added, "--console-url=wss://console.example/ws/v1/agents"])
    assert config.only_watches
    assert str(config.console_token_file) == f"{mounts['console-token']}/token"


def test_the_simulated_deployment_differs_in_its_gpus_alone() -> None:
    overlay = yaml.safe_load(
        (FOLDER.parent / "node-agent-simulated/kustomization.yaml").read_text()
    )
    (patch,) = overlay["patches"]
    operations = yaml.safe_load(patch["patch"])
    where = "/spec/template/spec/containers/0/args/-"

    assert overlay["resources"] == [f"../{FOLDER.name}"]
    assert patch["target"] == {"kind": "DaemonSet", "name": the("DaemonSet")["metadata"]["name"]}
    assert {(one["op"], one["path"]) for one in operations} == {("add", where)}
    assert parse([*arguments(), *(one["value"] for one in operations)]).profile == "h100x8"


def test_the_image_is_installed_by_hashes_from_no_named_registry() -> None:
    file = (FOLDER / "Containerfile").read_text()

    assert "--require-hashes -r /build/nodeagent.txt" in file
    assert "--editable" not in file
    assert not REGISTRIES.search(file)


def test_what_the_image_installs_is_what_the_tests_ran_with() -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / f"requirements/{name}.txt").read_text()
        return set(re.findall(r"^[a-z0-9-]+==\S+", text, re.MULTILINE))

    assert pins("nodeagent") <= pins("base") | pins("tools")
