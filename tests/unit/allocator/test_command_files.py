"""Files of a dump: what is read, and one clear line for whatever cannot be."""

import gzip
import json
from pathlib import Path

import pytest

from dra_console.allocator.api_json import objects_of
from dra_console.allocator.command import source
from dra_console.allocator.command.documents import DEPTH_LIMIT, DocumentError, read_documents
from dra_console.allocator.model import JsonObject
from tests.builders.objects import a_claim, a_class, a_node, a_slice, an_object
from tests.unit.allocator.command_line import CommandLine

YAML = """\
apiVersion: v1
items:
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu}
  spec: {}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: s}
  spec:
    driver: d
    nodeName: n
    pool: {name: n, generation: 1, resourceSliceCount: 1}
    devices:
    - name: x
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: c, namespace: t}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
kind: List
metadata:
  resourceVersion: ""
"""
FITS = "Claim t/c Fits on n: x."


def as_json(text: str) -> JsonObject:
    (document,) = read_documents(text)
    assert isinstance(document, dict)
    return document


ITEMS = [json.dumps(each) for each in objects_of(as_json(YAML)["items"])]


@pytest.mark.parametrize(
    "content",
    [
        YAML,
        json.dumps(as_json(YAML)),
        json.dumps(as_json(YAML), indent=4),
        "---\n" + YAML + "---\n",
        "# a comment\n\n" + YAML + "...\n",
        YAML.replace("\n", "\r\n"),
        "\ufeff" + YAML,
        YAML.encode("utf-16"),
        ("\ufeff" + YAML).encode("utf-16-be"),
        "\n---\n".join(ITEMS),
        "\n".join(ITEMS),
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [as_json(YAML)]}),
    ],
    ids=[
        "YAML",
        "JSON",
        "indented JSON",
        "empty documents around",
        "comments and an end",
        "Windows line ends",
        "a byte order mark",
        "UTF-16, as PowerShell redirects",
        "UTF-16, the other way",
        "documents of JSON",
        "JSON after JSON",
        "a list in a list",
    ],
)
def test_every_form_of_the_same_objects_is_read(
    command_line: CommandLine, content: str | bytes
) -> None:
    ended = command_line.run("explain", command_line.file(content))

    assert (ended.status, ended.errors) == (0, "")
    assert FITS in ended.text


def test_standard_input_is_read(command_line: CommandLine) -> None:
    assert FITS in command_line.run("explain", "-", stdin=YAML.encode()).text


def test_a_single_object_is_read(command_line: CommandLine) -> None:
    ended = command_line.run("explain", command_line.file(json.dumps(a_claim("alone"))))

    assert ended.status == 1
    assert "Claim team-research/alone" in ended.output


def test_several_files_are_one_dump(command_line: CommandLine) -> None:
    files = [
        command_line.file(json.dumps(each), f"{number}.json")
        for number, each in enumerate([a_node(), a_class(), a_slice(), a_claim()])
    ]

    assert command_line.run("explain", *files).status == 0
    assert command_line.run("explain", *files[:-2], files[-1]).status == 1


def test_items_of_a_typed_list_get_their_kind(command_line: CommandLine) -> None:
    bare = {key: value for key, value in a_claim().items() if key not in {"kind", "apiVersion"}}
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList", "items": [bare]}

    ended = command_line.run("explain", command_line.file(json.dumps(typed)))

    assert "Claim team-research/train" in ended.output


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b" \n\t\n", "an empty file"),
        (b"# nothing\n---\n", "no object in it"),
        (b"\x7fELF\x02\x01\x01\x00", "not a text file"),
        (b"\x89PNG\r\n\x1a\n", "not a text file: byte 0 is not UTF-8"),
        (gzip.compress(YAML.encode()), "a compressed file"),
        (b"just words", "expected an API object, got a text"),
        (b"- a\n- b\n", "expected an API object, got a list"),
        (b"a: 1\n", "expected an API object with apiVersion and kind"),
        (b"kind: Node\nmetadata: {name: n}\n", "apiVersion: expected a version such as v1"),
        (YAML[: YAML.index("kind: List")].encode(), "the file ends early"),
        (YAML[: YAML.index("c, namespace")].encode(), "the file may end early"),
        (json.dumps(as_json(YAML))[:-1].encode(), "the file ends early"),
        (json.dumps(as_json(YAML))[:90].encode(), "line 1: not JSON"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "JSON is nested too deeply"),
        (b"apiVersion: v1\nkind: Node\nmetadata:\n\tname: n\n", "line 4: not YAML: a tab"),
        (b"a: b: c\n", "line 1: not YAML: mapping values are not allowed"),
        (b"a: 1\nb: 2\na: 3\n", "line 3: a key is given twice"),
        (b"a: &a [x, x]\nb: &b [*a, *a]\n", "line 2: aliases (*name) are not accepted"),
        (b"a: !!python/object/apply:os.system [echo]\n", "line 1: tags (!name) are not accepted"),
        (b"a: !secret x\n", "line 1: tags (!name) are not accepted"),
        (b"? [a]\n: b\n", "line 1: expected a name as key"),
        (b"a: \x01\n", "not YAML: control characters are not allowed"),
        (b"a: [" * (DEPTH_LIMIT + 1), f"nested more than {DEPTH_LIMIT} levels deep"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    command_line: CommandLine, content: bytes, reason: str
) -> None:
    path = command_line.file(content)

    ended = command_line.run("explain", path)

    assert (ended.status, ended.output) == (2, "")
    assert ended.errors.startswith(f"dra-explain: {path}: ")
    assert reason in ended.errors
    assert ended.errors.count("\n") == 1


def test_every_bad_file_is_told_at_once(command_line: CommandLine) -> None:
    files = [command_line.file(b"", "a"), command_line.file(b"x", "b"), "/does/not/exist"]

    ended = command_line.run("explain", *files)

    assert ended.status == 2
    assert len(ended.errors.splitlines()) == 3
    assert "/does/not/exist: No such file or directory" in ended.errors


@pytest.mark.parametrize("name", [".", "a\0b"])
def test_what_is_no_file_is_told(command_line: CommandLine, name: str) -> None:
    ended = command_line.run("explain", name)

    assert ended.status == 2
    assert len(ended.errors.splitlines()) == 1


def test_a_huge_file_is_refused_before_it_fills_the_memory(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BYTES_LIMIT", 2 * 1024 * 1024)
    path = Path(command_line.file(b""))
    with path.open("wb") as file:
        file.truncate(1024**4)

    ended = command_line.run("explain", str(path))

    assert ended.status == 2
    assert "longer than 2 MiB" in ended.errors


def test_no_content_of_a_secret_is_ever_printed(command_line: CommandLine) -> None:
    secret = an_object("Secret", "s", api_version="v1", namespace="t", data={"hunter2": "hunter2"})
    whole = json.dumps([a_claim(), secret])
    text = "kind: Secret\ndata:\n  hunter2: hunter2\n"
    broken = [
        "  hunter2: again\n",
        "\thunter2: x\n",
        "  hunter2 'x\n",
        "  x: *hunter2\n",
        "  x: !hunter2 y\n",
        '  x: "\\hunter2"\n',
        "  ? {hunter2: x}\n",
        "hunter2\n",
        "  x: {hunter2: [hunter2\n",
        "  %hunter2\n",
    ]
    contents = [
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_claim(), secret]}),
        whole,
        whole[:-40],
        json.dumps({"kind": "hunter2"}),
        json.dumps({"metadata": {"name": "hunter2"}, "data": "hunter2"}),
        *(text + each for each in broken),
    ]

    for content in contents:
        for command in ("explain", "allocate"):
            ended = command_line.run(command, command_line.file(content))
            assert "hunter2" not in ended.output + ended.errors, content
    assert "Secret 1" in command_line.run("explain", command_line.file(contents[0])).output


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-5", -5),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("off", False),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 1", "1"),
        ("2026-11-29", "2026-11-29"),
        ("1:30", "1:30"),
        ("0x10", "0x10"),
        ("010", "010"),
        ("10Gi", "10Gi"),
        ("1.2.3", "1.2.3"),
        ("nan", "nan"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_yaml_values_are_what_kubernetes_takes_them_for(text: str, value: object) -> None:
    (document,) = read_documents(f"a: {text}")

    assert repr(document) == repr({"a": value})


def test_documents_before_a_fault_are_not_enough() -> None:
    with pytest.raises(DocumentError):
        list(read_documents("a: 1\n---\n{"))
