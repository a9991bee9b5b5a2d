import pytest

from benchmarks import ours


@pytest.fixture(autouse=True)
def _looks_for_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare what makes figures steady: the objects of all tests would be gone through each time."""
    monkeypatch.setattr(ours, "settle", lambda: None)
