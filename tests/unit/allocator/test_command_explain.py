"""`explain`: what a support engineer reads, and the exit status that a script gets."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from dra_console.allocator.command.arguments import DUMP_COMMAND
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.model import JsonObject
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    a_template,
    an_allocated_claim,
    an_object,
)
from tests.unit.allocator.command_line import CommandLine
from tests.unit.allocator.golden_cases import inside

WORLD = [a_node(), a_class(), a_slice(devices=[a_device("gpu-0"), a_device("gpu-1")])]
DUMPS = Path(__file__).parents[2] / "golden" / "dumps"


def unserved(obj: JsonObject) -> JsonObject:
    """Take off what a server gives an object, as in a manifest."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return obj | {"metadata": {key: metadata[key] for key in metadata if key != "uid"}}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_dump_of_a_real_server_says_why_the_claim_waits(
    command_line: CommandLine, version: str
) -> None:
    ended = command_line.run("explain", str(DUMPS / f"l4-{version}.yaml"))

    assert (ended.status, ended.errors) == (1, "")
    assert ended.lines[:3] == [
        "Pod team-vision/batch-l4, claim team-vision/four-l4",
        "DOES NOT FIT: Only 2 of 4 devices wanted are free.",
        "Of 4 devices, 1 is tainted, 1 is taken, 2 are free.",
    ]
    assert "(team-vision/one-l4)" in ended.text
    assert "taint example.com/maintenance:NoSchedule is not tolerated" in ended.text
    assert "- Ask for 2 instead of 4 devices in request gpu: fits on l4-01" in ended.lines
    assert "Ignored, of other kinds: Secret 1." in ended.lines


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_dump_of_a_real_server_says_what_an_allocated_claim_has(
    command_line: CommandLine, version: str
) -> None:
    path = str(DUMPS / f"l4-{version}.yaml")

    ended = command_line.run("explain", path, "--claim", "team-vision/one-l4")

    assert (ended.status, ended.errors) == (0, "")
    assert ended.lines[1] == "Allocated on l4-01: gpu-0."
    assert "request gpu: gpu.nvidia.com/l4-01/gpu-0" in ended.lines


def test_a_claim_that_fits_ends_with_0(command_line: CommandLine) -> None:
    ended = command_line.run("explain", command_line.objects(*WORLD, a_claim()))

    assert ended.status == 0
    assert "Fits on gpu-01: gpu-0." in ended.lines


def test_a_claim_that_does_not_fit_ends_with_1(command_line: CommandLine) -> None:
    wanting = a_claim(requests=[a_request(count=3)])

    ended = command_line.run("explain", command_line.objects(*WORLD, wanting))

    assert ended.status == 1
    assert ended.lines[1].startswith("DOES NOT FIT: ")


def test_broken_input_ends_with_2_and_says_where(command_line: CommandLine) -> None:
    fails = a_claim(requests=[a_request(selectors=['device.attributes["x"].y == 1'])])
    path = command_line.objects(*WORLD, fails)

    ended = command_line.run("explain", path)

    assert ended.status == 2
    assert ended.lines[1].startswith("BROKEN: ")
    assert ended.errors.startswith(
        f"dra-explain: {path}: items[3]: ResourceClaim team-research/train: "
        "spec.devices.requests[0].exactly.selectors[0].cel.expression: "
    )


def test_a_class_is_to_blame_for_its_own_selector(command_line: CommandLine) -> None:
    fails = a_class(selectors=['device.attributes["x"].y == 1'])
    path = command_line.objects(WORLD[0], WORLD[2], fails, a_claim())

    assert (
        f"{path}: items[2]: DeviceClass gpu.nvidia.com: spec.selectors[0].cel.expression: "
        in command_line.run("explain", path).errors
    )


def test_a_template_is_to_blame_for_the_claim_that_would_be_made(
    command_line: CommandLine,
) -> None:
    template = a_template(requests=[a_request(selectors=['device.attributes["x"].y == 1'])])
    path = command_line.objects(*WORLD, template, a_pod(template="one-gpu"))

    place = (
        f"{path}: items[3]: ResourceClaimTemplate team-research/one-gpu: "
        "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: "
    )
    for command in ("explain", "allocate"):
        ended = command_line.run(command, path)
        assert ended.status == 2
        assert place in ended.errors


def test_a_field_of_the_wrong_kind_ends_with_2_and_says_where(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim(requests=[a_request(count="two")]))

    ended = command_line.run("explain", path)

    assert (ended.status, ended.output) == (2, "")
    assert ended.errors == (
        f"dra-explain: {path}: items[3]: ResourceClaim team-research/train: "
        "spec.devices.requests[0].exactly.count: expected a whole number, got a text\n"
    )


@pytest.mark.parametrize("version", ["v1alpha2", "v2"])
def test_a_version_that_cannot_be_read_is_named(command_line: CommandLine, version: str) -> None:
    api_version = f"resource.k8s.io/{version}"
    path = command_line.objects(*WORLD, a_claim() | {"apiVersion": api_version})

    ended = command_line.run("explain", path)

    assert (ended.status, ended.output) == (2, "")
    assert f"ResourceClaim team-research/train: apiVersion: {api_version} " in ended.errors


def test_an_exhausted_search_ends_with_3(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = partial(explain, step_budget=0)
    monkeypatch.setattr("dra_console.allocator.command.explain.explain", impatient)

    ended = command_line.run("explain", command_line.objects(*WORLD, a_claim()))

    assert ended.status == 3
    assert ended.lines[1].startswith("NO ANSWER: ")


def test_the_worst_of_several_answers_is_the_status(command_line: CommandLine) -> None:
    fits, waits = a_claim("fits"), a_claim("waits", requests=[a_request(count=3)])
    broken = unserved(a_claim("broken", requests=[a_request(count=-1)]))

    assert command_line.run("explain", command_line.objects(*WORLD, fits, waits)).status == 1
    ended = command_line.run("explain", command_line.objects(*WORLD, fits, waits, broken))
    assert ended.status == 2
    assert "Asked about 3: 1 fits, 1 does not fit, 1 is broken." in ended.text


def test_a_manifest_that_no_server_would_take_is_refused_by_field(
    command_line: CommandLine,
) -> None:
    path = command_line.objects(*WORLD, unserved(a_claim(requests=[a_request(count=-1)])))

    ended = command_line.run("explain", path)

    assert ended.status == 2
    assert "spec.devices.requests[0].exactly.count: Invalid value: -1" in ended.errors


def test_what_a_server_stored_is_not_judged_again(command_line: CommandLine) -> None:
    old = a_claim("Name.that/was.once-possible")

    assert command_line.run("explain", command_line.objects(*WORLD, old)).status == 0


def test_a_fault_of_the_command_is_no_answer(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("dra_console.allocator.command.explain.explain", broken)

    ended = command_line.run("explain", command_line.objects(*WORLD, a_claim()))

    assert ended.status == 70
    assert "ZeroDivisionError: a bug" in ended.errors


def test_nothing_waits_when_all_claims_have_devices(command_line: CommandLine) -> None:
    ended = command_line.run("explain", command_line.objects(*WORLD, an_allocated_claim()))

    assert (ended.status, ended.text) == (
        0,
        "Nothing waits: all claims of the dump have their devices (1).",
    )


def test_other_kinds_are_ignored_and_counted(command_line: CommandLine) -> None:
    others = [
        an_object("ConfigMap", "a", api_version="v1", namespace="t"),
        an_object("ConfigMap", "b", api_version="v1", namespace="t"),
        an_object("ResourceClaim", "c", api_version="example.com/v1", namespace="t"),
    ]

    ended = command_line.run("explain", command_line.objects(*WORLD, a_claim(), *others))

    assert "Ignored, of other kinds: ConfigMap 2, ResourceClaim 1." in ended.lines


def test_the_same_object_twice_counts_once(command_line: CommandLine) -> None:
    files = [command_line.objects(*WORLD, a_claim(), name=name) for name in ("a", "b")]

    ended = command_line.run("explain", *files)

    assert ended.status == 0
    assert "Given twice, word for word, and taken once: 4 objects." in ended.lines


def test_two_objects_of_one_name_are_broken_input(command_line: CommandLine) -> None:
    first = command_line.objects(*WORLD, a_claim(), name="a")
    second = command_line.objects(a_claim(requests=[a_request(count=2)]), name="b")

    ended = command_line.run("explain", first, second)

    assert (ended.status, ended.output) == (2, "")
    assert ended.errors == (
        f"dra-explain: {second}: items[0]: ResourceClaim team-research/train: given before, at "
        f"{first}: items[3], with other content; take both from one moment\n"
    )


@pytest.mark.parametrize(
    ("kind", "status"), [("ResourceSlice", 1), ("DeviceClass", 2), ("Node", 0)]
)
def test_a_kind_that_was_left_out_is_remarked(
    command_line: CommandLine, kind: str, status: int
) -> None:
    rest = [each for each in (*WORLD, a_claim()) if each["kind"] != kind]

    ended = command_line.run("explain", command_line.objects(*rest))

    assert f"The dump holds no {kind}" in ended.text
    assert ended.status == status


def test_fields_of_slices_that_are_not_known_are_remarked(command_line: CommandLine) -> None:
    newer = [a_slice(name, pool=name, future=1) for name in ("s1", "s2")]

    ended = command_line.run("explain", command_line.objects(*WORLD, *newer, a_claim()))

    assert "spec.future of ResourceSlice s1, and in 1 more" in " ".join(ended.text.split())


def test_only_named_nodes_are_considered(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_node("gpu-02"), a_claim())

    assert command_line.run("explain", path, "--node", "gpu-01").status == 0
    assert command_line.run("explain", path, "--node", "gpu-02").status == 1
    both = command_line.run("explain", path, "--node", "gpu-02", "--node", "gpu-01")
    assert both.status == 0
    unknown = command_line.run("explain", path, "--node", "gpu-03")
    assert (unknown.status, unknown.errors) == (
        2,
        "dra-explain: node gpu-03 is not among the 2 nodes of the dump\n",
    )


def test_feature_gates_can_be_given(command_line: CommandLine) -> None:
    tainted = a_slice(devices=[a_device("gpu-0", taints=[a_taint()])])
    path = command_line.objects(*WORLD[:2], tainted, a_claim())

    assert command_line.run("explain", path).status == 1
    assert command_line.run("explain", path, "--features", "DRADeviceTaints=false").status == 0
    assert command_line.run("explain", path, "--features", "DRAAdminAccess").status == 0
    assert command_line.run("explain", path, "--features", "DRADeviceTaints").status == 1
    for wrong in ("Typo", "DRADeviceTaints=maybe", "DRADeviceTaints,DRAAdminAccess=true"):
        ended = command_line.run("explain", path, "--features", wrong)
        assert ended.status == 2
        assert ended.errors.startswith("dra-explain: --features: ")


def test_taint_rules_of_the_dump_count(command_line: CommandLine) -> None:
    rule = a_taint_rule(driver="gpu.nvidia.com")

    ended = command_line.run("explain", command_line.objects(*WORLD, rule, a_claim()))

    assert ended.status == 1
    assert "tainted: 2" in ended.lines


def test_json_holds_the_whole_explanation(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim(requests=[a_request(count=3)]))

    ended = command_line.run("explain", path, "--output", "json")

    assert (ended.status, ended.json["status"]) == (1, 1)
    explanations = ended.json["explanations"]
    assert isinstance(explanations, list)
    assert inside(explanations[0], "claims") == ["team-research/train"]
    funnel = inside(explanations[0], "explanation", "funnel")
    assert isinstance(funnel, dict)
    assert sum(int(str(funnel[verdict])) for verdict in Verdict) == funnel["considered"] == 2


def test_many_devices_are_folded(command_line: CommandLine) -> None:
    fleet = [
        each
        for number in range(60)
        for each in (
            a_node(f"n{number}"),
            a_slice(node=f"n{number}", devices=[a_device(f"gpu-{index}") for index in range(8)]),
        )
    ]
    wanting = a_claim(requests=[a_request(count=9)])

    ended = command_line.run("explain", command_line.objects(a_class(), *fleet, wanting))

    assert "free: 480" in ended.lines
    assert "n0, n1, n2 and 57 more: 8 free, 9 wanted" in ended.lines
    assert len(ended.lines) < 20


def test_many_claims_that_wait_have_a_headline_each(command_line: CommandLine) -> None:
    waiting = [a_claim(f"c-{count}", requests=[a_request(count=count)]) for count in range(3, 24)]
    path = command_line.objects(*WORLD, *waiting)

    few = command_line.run("explain", command_line.objects(*WORLD, *waiting[:-1], name="few"))
    many = command_line.run("explain", path)
    named = command_line.run("explain", path, "--claim", "team-research/c-23")

    assert few.lines.count("Devices") == 20
    assert many.lines.count("Devices") == 0
    assert len([line for line in many.lines if line.startswith("DOES NOT FIT: ")]) == 21
    assert "So many are shown as headlines only" in many.text
    assert named.lines.count("Devices") == 1


def test_lines_are_as_wide_as_the_terminal(command_line: CommandLine) -> None:
    selector = " || ".join(f'device.driver == "driver-{number}"' for number in range(20))
    path = command_line.objects(*WORLD, a_claim(requests=[a_request(selectors=[selector])]))

    for columns in (60, 100):
        ended = command_line.run("explain", path, columns=columns)
        assert max(map(len, ended.output.splitlines())) in range(columns - 20, columns + 1)


def test_control_characters_of_a_dump_do_not_reach_the_terminal(
    command_line: CommandLine,
) -> None:
    evil = "\x1b[2J\u202e"
    dump = command_line.objects(
        *WORLD,
        a_claim(requests=[a_request(selectors=[f'device.driver == "{evil}"'])]),
        an_object(f"Kind{evil}", "x", api_version="v1"),
        an_allocated_claim(f"held{evil}", results=[a_result("gpu-1")]),
    )
    broken = command_line.objects(a_claim(f"x{evil}") | {"spec": 3}, name="broken")

    for ended in (
        command_line.run("explain", dump),
        command_line.run("explain", broken),
        command_line.run("allocate", broken),
        command_line.run("explain", dump, "--claim", evil),
    ):
        assert not set(evil[:1] + evil[-1:]) & set(ended.output + ended.errors)
        assert "\\x1b" in ended.output + ended.errors


def test_a_terminal_that_knows_ascii_only_gets_escapes(command_line: CommandLine) -> None:
    selector = 'device.driver == "Gerät"'
    path = command_line.objects(*WORLD, a_claim(requests=[a_request(selectors=[selector])]))

    done = subprocess.run(
        [sys.executable, "-m", "dra_console.allocator", "explain", path],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )

    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"Ger\xe4t" in done.stdout


def test_without_a_sub_command_it_explains(command_line: CommandLine) -> None:
    path = command_line.objects(*WORLD, a_claim())

    assert command_line.run(path).output == command_line.run("explain", path).output


def test_help_names_the_kubectl_command_and_the_exit_statuses(command_line: CommandLine) -> None:
    for arguments in ((), ("--help",), ("explain", "--help")):
        ended = command_line.run(*arguments)
        assert ended.status == 0
        assert DUMP_COMMAND in ended.output
        assert "exit status:" in ended.output


@pytest.mark.parametrize("arguments", [("explain",), ("explain", "--nonsense", "x")])
def test_wrong_usage_ends_with_2(command_line: CommandLine, arguments: tuple[str, ...]) -> None:
    assert command_line.run(*arguments).status == 2


def test_a_reader_that_has_seen_enough_is_no_failure(command_line: CommandLine) -> None:
    devices = [a_device(f"gpu-{number}") for number in range(120)]
    fleet = [a_slice(node=f"n{number}", devices=devices) for number in range(10)]
    path = command_line.objects(a_class(), *fleet, a_claim())
    command = [sys.executable, "-m", "dra_console.allocator", "explain", path, "--output", "json"]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"LC_ALL": "C"}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


def test_importing_the_allocator_loads_no_framework() -> None:
    code = (
        "import sys, dra_console.allocator, dra_console.allocator.command.main\n"
        "frameworks = {'django', 'celery', 'kubernetes', 'rest_framework', 'channels'}\n"
        "print(sorted(frameworks & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert json.loads(done.stdout.replace("'", '"')) == []
