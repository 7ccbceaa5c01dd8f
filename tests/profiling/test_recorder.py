"""The phases of a frame follow from its stamps."""

import pytest

from warploom.engine.profiling.recorder import FRAME_ROW, Stamps, frame_rows


@pytest.mark.parametrize(
    ("due", "waited", "launching", "launched", "told"),
    [
        (93, 0, 110, 130, (7, 100, 10, 20, 70)),  # waits for the device after the launch
        (100, 104, 110, 130, (0, 100, 4, 20, 76)),  # waits also for room before the launch
        (150, 0, 110, 130, (0, 100, 10, 20, 70)),  # begins before it is due
        (100, 60, 70, 80, (0, 100, 100, 0, 0)),  # launches nothing: the stamps are those of an earlier frame
        (100, 60, 110, 80, (0, 100, 100, 0, 0)),  # fails while it launches
    ],
)
def test_the_phases_of_a_frame_are_told(
    due: int, waited: int, launching: int, launched: int, told: tuple[int, ...]
) -> None:
    stamps = Stamps(7, 2, due, 100, waited, launching, launched, 200)
    rows = frame_rows([stamps, stamps])
    assert rows.dtype == FRAME_ROW
    assert rows.tolist() == [(7, 2, 100, *told)] * 2


def test_no_frames_give_no_rows() -> None:
    rows = frame_rows([])
    assert (rows.shape, rows.dtype) == ((0,), FRAME_ROW)
