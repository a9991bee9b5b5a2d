import pytest

from dra_console.api.problems import Problem
from dra_console.api.selectors import LabelTerm, parse_label_selector, with_fields, with_labels
from dra_console.mirror.models import Cluster, Node
from tests.builders.mirrored import mirror
from tests.builders.objects import a_node

COLUMNS = {"metadata.name": "name"}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a=b", [LabelTerm("a", ("b",), holds=True)]),
        ("a==b", [LabelTerm("a", ("b",), holds=True)]),
        ("a!=b", [LabelTerm("a", ("b",), holds=False)]),
        ("a=", [LabelTerm("a", ("",), holds=True)]),
        ("a", [LabelTerm("a", None, holds=True)]),
        ("!a", [LabelTerm("a", None, holds=False)]),
        ("a in (b, c)", [LabelTerm("a", ("b", "c"), holds=True)]),
        ("a notin (b)", [LabelTerm("a", ("b",), holds=False)]),
        ("in in (in)", [LabelTerm("in", ("in",), holds=True)]),
        (
            "x.io/a=b, c in (d,e),!f",
            [
                LabelTerm("x.io/a", ("b",), holds=True),
                LabelTerm("c", ("d", "e"), holds=True),
                LabelTerm("f", None, holds=False),
            ],
        ),
        ("", []),
    ],
)
def test_label_selectors_read_as_in_kubernetes(text: str, terms: list[LabelTerm]) -> None:
    assert list(parse_label_selector(text)) == terms


@pytest.mark.parametrize("text", ["a b", "=b", "a in b", "a>1", "a in (b", "ä=b", "a=b;c", "1=x"])
def test_a_selector_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="labelSelector"):
        parse_label_selector(text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("gpu=h100", ["n1"]),
        ("gpu!=h100", ["n2", "n3"]),
        ("gpu", ["n1", "n2"]),
        ("!gpu", ["n3"]),
        ("gpu in (h100,l4)", ["n1", "n2"]),
        ("gpu notin (l4)", ["n1", "n3"]),
        ("x.io/zone__name=a", ["n1"]),
        ("gpu,gpu!=l4", ["n1"]),
        ('raw__name="', None),
    ],
)
def test_labels_select_rows(selector: str, names: list[str] | None) -> None:
    cluster = Cluster.objects.create(name="prod")
    mirror(
        cluster,
        a_node("n1", **{"gpu": "h100", "x.io/zone__name": "a"}),
        a_node("n2", gpu="l4"),
        a_node("n3"),
    )

    if names is None:
        with pytest.raises(Problem):
            with_labels(Node.objects.all(), selector=selector)
    else:
        rows = with_labels(Node.objects.all(), selector=selector)
        assert [row.name for row in rows] == names


@pytest.mark.django_db
def test_fields_select_rows_and_unknown_ones_are_refused_by_name() -> None:
    mirror(Cluster.objects.create(name="prod"), a_node("n1"), a_node("n2"))
    nodes = Node.objects.all()

    equal = with_fields(nodes, selector="metadata.name=n1", columns=COLUMNS)
    different = with_fields(nodes, selector="metadata.name!=n1", columns=COLUMNS)

    assert [row.name for row in equal] == ["n1"]
    assert [row.name for row in different] == ["n2"]
    with pytest.raises(Problem, match=r"one of metadata\.name; got 'status\.phase=x'"):
        with_fields(nodes, selector="status.phase=x", columns=COLUMNS)
