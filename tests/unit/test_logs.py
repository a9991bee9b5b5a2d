import pytest
import structlog


def refuse(token: str) -> None:
    raise ValueError(len(token))


def test_a_traceback_in_the_log_shows_no_variables(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        refuse("of-a-user")
    except ValueError:
        structlog.get_logger().exception("passed over")

    shown = capsys.readouterr().out
    assert "ValueError: 9" in shown
    assert "token = 'of-a-user'" not in shown
