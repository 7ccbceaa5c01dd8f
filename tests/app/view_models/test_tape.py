"""The tape holds the newest of what was shown, within its bytes, and finds what was shown at a frame."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.app_support import make_report, shown_picture
from warploom.app.view_models.profile import tape as module
from warploom.app.view_models.profile.tape import MOST_OF_ONE, Tape, ago, small
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling

PORT = Sampling(PortRef("a", "out"), rate=20.0)


def sample(frame: int, name: str = "looking/x", sampling: Sampling = PORT) -> Sample:
    return Sample(name, sampling, frame, "f32", (3,), ((0, 3),), np.full(3, frame, np.float32))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=60), st.integers(0, 30))
def test_it_finds_the_last_before_a_frame(puts: list[tuple[str, int]], asked: int) -> None:
    """The answer is that of a list of all, except that a frame before the last one begins anew."""
    tape, known = Tape(), dict[str, list[int]]()
    for at, (name, frame) in enumerate(puts):
        tape.put(sample(frame, name), float(at))
        before = known.setdefault(name, [])
        if before and before[-1] > frame:
            before.clear()
        before.append(frame)
    for name, frames in known.items():
        found = tape.find(name, asked)
        assert (found.frame if found is not None else None) == max((f for f in frames if f <= asked), default=None)


def test_its_bytes_are_bounded_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 20 << 10)
    tape = Tape()
    for frame in range(100):
        tape.put(sample(frame), float(frame))
        assert tape.size_bytes <= 20 << 10
    assert tape.find("looking/x", 99) is not None and tape.find("looking/x", 10) is None
    report = make_report(frame=7, values={"a.out": 2.0})
    for frame in range(100, 200):  # values that stay are older than all pictures
        tape.put_values(report)
        tape.put(sample(frame), float(frame))
    assert tape.values(199) == report.values
    assert "1 output recorded" in tape.text


def test_what_is_no_longer_looked_at_is_not_shown_for_later_frames() -> None:
    tape = Tape()
    tape.put(sample(5), 0.0)
    tape.keep_only([])
    assert tape.find("looking/x", 5) is not None and tape.find("looking/x", 9) is None


def test_a_port_is_found_under_another_name() -> None:
    """A block that was not selected then is shown by its thumbnail, if that was made in the same way."""
    tape = Tape()
    tape.put(sample(5, "canvas/a"), 0.0)
    found = tape.find("looking/x", 7, PORT)
    assert found is not None and found.name == "looking/x" and found.frame == 5
    assert tape.find("looking/x", 7, Sampling(PORT.port, reduction=Reduction.MEAN)) is None


def test_pictures_are_made_small() -> None:
    """A large picture has every n-th pixel and the size of the whole; what can't be made small is left out."""
    made = small(shown_picture("viewer", 3, np.zeros((1080, 1920, 4), np.uint8)))
    assert made is not None and made.data.nbytes <= 1.1 * MOST_OF_ONE and made.shape == (1080, 1920)
    cells = Sampling(PortRef("a", "out"), reduction=Reduction.MEAN)
    floats = Sample("x", cells, 3, "float4", (900, 900), ((0, 900), (0, 900)), np.zeros((900, 900, 4), np.float32))
    reduced = small(floats)
    assert isinstance(reduced, Sample) and reduced.data is not None and reduced.data.nbytes <= 1.1 * MOST_OF_ONE
    assert reduced.data.shape[2] == 4 and reduced.part == floats.part
    rows = Sample("x", PORT, 3, "f32", (4, 1 << 20), ((0, 4), (0, 1 << 20)), np.zeros((4, 1 << 20), np.float32))
    assert small(rows) is None
    assert (ago(3.21), ago(240)) == ("3.2 s ago", "4 min ago")
