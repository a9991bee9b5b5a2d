from dra_console.live.allowance import FrameAllowance


def test_a_burst_passes_and_the_frame_after_it_does_not() -> None:
    allowance = FrameAllowance(burst=3, per_second=1)

    assert [allowance.take(0.0) for _ in range(4)] == [True, True, True, False]


def test_steady_frames_at_the_allowed_rate_all_pass() -> None:
    allowance = FrameAllowance(burst=2, per_second=1)

    assert all(allowance.take(float(second)) for second in range(1000))


def test_waiting_refills_no_more_than_a_burst() -> None:
    allowance = FrameAllowance(burst=2, per_second=1)
    allowance.take(0.0)

    assert [allowance.take(3600.0) for _ in range(3)] == [True, True, False]
