import pytest
import structlog


def test_a_traceback_in_the_log_shows_no_variables(capsys: pytest.CaptureFixture[str]) -> None:
    held_by_the_frame = "-".join(["of", "a", "user"])

    try:
        raise ValueError(len(held_by_the_frame))
    except ValueError:
        structlog.get_logger().exception("passed over")

    shown = capsys.readouterr().out
    assert "ValueError: 9" in shown
    assert "of-a-user" not in shown
