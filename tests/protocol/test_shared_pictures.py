"""Pictures in shared memory arrive as they were placed, and no place is used twice at a time."""

import gc
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from tests.fuzzing import many, seeds
from warploom.engine.protocol.child import shared_pictures
from warploom.engine.protocol.child.encoding import encode, make_decoder
from warploom.engine.protocol.child.shared_pictures import PlacedArray, SharedPictures, inherited, make_descriptor
from warploom.engine.protocol.sampling import Sample, picture_of

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="memory without a name is of Linux")


def both_ends() -> tuple[SharedPictures, SharedPictures]:
    """Return the same memory as two processes see it."""
    descriptor = make_descriptor()
    assert descriptor is not None
    ends = SharedPictures(descriptor), SharedPictures(descriptor)
    os.close(descriptor)
    return ends


@pytest.mark.parametrize("seed", seeds(2))
def test_pictures_stay_as_they_are_while_they_are_used(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A later picture never changes an earlier one, of random sizes, kept for random times as arrays or views."""
    monkeypatch.setattr(shared_pictures, "_SIZE_BYTES", 1 << 16)
    chance, (writer, reader) = random.Random(seed), both_ends()
    decoder = make_decoder(Sample, reader)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    placed = copied = 0
    for number in range(many(400)):
        height, width = chance.choice((0, 1, 7, 33, 63)), chance.choice((1, 5, 64))
        pixels = np.random.default_rng(number).integers(0, 256, (height, width, 4), np.uint8)
        copy = writer.place(pixels)
        placed, copied = placed + isinstance(copy, PlacedArray), copied + (not isinstance(copy, PlacedArray))
        preview = decoder.decode(encode(Sample("viewer", picture_of("viewer"), number, data=copy)))
        del copy
        seen = preview.data[chance.choice((slice(None), slice(1, None))), ::-1] if chance.random() < 0.5 else None
        kept.append((preview.data, pixels) if seen is None else (seen, np.array(seen)))
        del preview, seen
        assert all(np.array_equal(found, expected) for found, expected in kept)
        while len(kept) > chance.randrange(12):
            del kept[chance.randrange(len(kept))]
    assert placed and copied
    kept.clear()
    gc.collect()
    assert isinstance(writer.place(np.zeros((1 << 15,), np.uint8)), PlacedArray)


def test_more_pictures_than_there_are_bytes_are_copied() -> None:
    """The memory has a byte for 256 pictures; one more is an array of its own."""
    writer, _ = both_ends()
    assert [isinstance(writer.place(np.ones(4, np.uint8)), PlacedArray) for _ in range(257)] == [True] * 256 + [False]


@pytest.mark.parametrize("text", ["", "x", "-1", "9999"])
def test_a_process_without_the_memory_uses_the_pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A program between both may pass the variable on, but not the descriptor."""
    monkeypatch.setenv(shared_pictures.VARIABLE, text)
    assert inherited() is None and shared_pictures.VARIABLE not in os.environ


def test_another_file_is_not_used() -> None:
    """If the descriptor is that of another file, which is large enough, nothing is written there."""
    code = (
        "import os, tempfile; from warploom.engine.protocol.child.shared_pictures import VARIABLE, inherited;"
        "file = tempfile.TemporaryFile(); file.truncate(1 << 30);"
        "os.environ[VARIABLE] = str(file.fileno()); print(inherited())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"None\n"


@pytest.mark.parametrize("place", [(256, 4096), (-1, 4096), (0, 2**40), (0, -4)])
def test_a_place_outside_of_the_memory_is_refused(place: tuple[int, int]) -> None:
    """A picture whose place is outside of the memory is refused, and frees no other's place."""
    _, reader = both_ends()
    with pytest.raises(ValueError, match=r"number|offset"):
        reader.take(place, np.dtype(np.uint8), (4,))
