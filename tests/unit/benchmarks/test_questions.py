"""What only our allocator is asked runs on a handful of nodes, too."""

import random
from pathlib import Path

import pytest

from benchmarks.churning import KINDS, Traffic, check_against_reference, streams
from benchmarks.claims import RAREST_BOARD
from benchmarks.fleets import gpu_fleet
from benchmarks.indexing import index_megabytes, index_questions
from benchmarks.questions import Question, explanations, matching, selections
from benchmarks.scenarios import Scale
from benchmarks.table import BEGIN, END, Row, figures, renew
from benchmarks.targets import AtMost, Column
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.search.fleet import Fleet
from dra_console.allocator.world.index import index_of

TINY = Scale(small_nodes=4, sharing_nodes=4, large_nodes=4, stream=2)
QUESTIONS = [
    *streams(TINY),
    *index_questions(TINY),
    *explanations(TINY),
    *selections(TINY),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_every_question_is_answered_and_timed(question: Question) -> None:
    row = question.measure(0)

    assert row.seconds
    assert all(seconds > 0 for seconds in row.seconds.values())


def test_an_explanation_is_weighed_as_json() -> None:
    row = next(explanations(TINY)).measure(0)

    (weight,) = (target for target in row.targets if isinstance(target, AtMost))
    assert 0 < weight.measured < weight.limit


def test_the_expression_on_the_board_selects_the_rarest_one() -> None:
    world = gpu_fleet("ten racks", nodes=10, gpus=8)

    assert matching(index_of(world.snapshot), RAREST_BOARD) == 8


def test_a_fleet_in_traffic_answers_as_the_plain_method_does_on_its_snapshot() -> None:
    world = gpu_fleet("ten racks", nodes=10, gpus=8)
    traffic = Traffic(Fleet(world.snapshot), [decode_claim(each) for each in KINDS])
    dice = random.Random(3)

    for _ in range(25):
        traffic.come()
        traffic.come()
        traffic.go(dice)
        check_against_reference(traffic)

    assert len(traffic.running) == 25
    assert len(traffic.seconds) == 50


def test_the_index_is_weighed_without_its_snapshot() -> None:
    world = gpu_fleet("ten racks", nodes=10, gpus=8)

    assert 0 < index_megabytes(world.snapshot) < 10


def test_a_run_renews_the_figures_of_the_document_and_nothing_else(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text(f"Before\n{BEGIN}\nold figures\n{END}\nAfter\n")

    rows = [Row("B1", "one GPU", {Column.WARM: 0.001}, ())]
    renew(document, figures(rows, {"cpu": "a fast one"}))

    text = document.read_text()
    assert text.startswith(f"Before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nAfter\n")
    assert "old figures" not in text
    assert "- cpu: a fast one" in text
    assert "| B1 | one GPU" in text


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text("no marks")

    with pytest.raises(ValueError, match="expected the marks"):
        renew(document, "new figures")
    assert document.read_text() == "no marks"


def test_the_documents_figures_have_their_marks() -> None:
    documents = Path(__file__).parents[3] / "docs"

    for document in ("benchmarks.md", "benchmarks-sync.md"):
        text = (documents / document).read_text()
        assert text.count(BEGIN) == text.count(END) == 1, document
