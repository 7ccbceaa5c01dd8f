"""Pictures go over a line as exactly as its rate allows."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import seeds
from warploom.engine.protocol.child.encoding import FromEngine, encode, make_decoder
from warploom.engine.protocol.elsewhere.far_client import renamed
from warploom.engine.protocol.elsewhere.messages import CodedPicture
from warploom.engine.protocol.elsewhere.pictures import BUDGET_S, CODINGS, PictureCoder, decoded
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.sampling import Sample, picture_of

Pixels = np.ndarray


def picture(seed: int) -> Pixels:
    """Return a random picture: noise, waves or a drawing, of any size."""
    chance = np.random.default_rng(seed)
    height, width = chance.integers(1, 90, 2)
    y, x = np.mgrid[:height, :width]
    waves = np.stack([np.sin(x / 9 + phase) * np.cos(y / 7) * 120 + 128 for phase in range(4)], -1).astype(np.uint8)
    if seed % 3 == 0:
        return chance.integers(0, 256, (height, width, 4), np.uint8)
    if seed % 3 == 1:
        waves[..., 3] = 255
    return waves


@pytest.mark.parametrize("seed", seeds(9))
def test_a_picture_arrives_in_each_coding(seed: int) -> None:
    """Exact codings keep every pixel; the others keep the size, the alpha of their pixels, and the probed pixel."""
    pixels, coder = picture(seed), PictureCoder()
    height, width = pixels.shape[:2]
    x, y = seed * 7 % width, seed * 5 % height
    part = (0, height), (0, width)
    preview = Sample("show", picture_of("show", probe=(y, x)), 3, "uchar4", (height, width), part, pixels)
    for coding in CODINGS:
        frame = encode(coder.code(preview, coding))
        message = make_decoder(FromEngine).decode(frame)
        assert isinstance(message, CodedPicture)
        there = decoded(message)
        assert (there.name, there.frame, there.shape) == ("show", 3, (height, width))
        assert there.data.shape == pixels.shape and there.data.flags.writeable
        if coding.is_exact:
            assert np.array_equal(there.data, pixels) and there.probed is None
        else:
            assert there.probed.tolist() == pixels[y, x].tolist()
            assert np.array_equal(there.data[0, 0, 3], pixels[0, 0, 3])
            if seed % 3 == 1 and coding.step == 1:
                assert np.abs(there.data.astype(int) - pixels).mean() < 12


def test_a_slower_line_gets_a_coarser_coding() -> None:
    """A fast line carries plain pixels, and 1 Mbit/s a coarse JPEG; a slower line never gets a finer coding."""
    chance = np.random.default_rng(1)
    photo = np.full((720, 1280, 4), 255, np.uint8)
    photo[..., :3] = chance.integers(0, 256, (720, 1280, 3), np.uint8)
    chosen = [CODINGS.index(PictureCoder().choose(photo, rate)) for rate in (1e9, 1e8, 2e7, 5e6, 1e6, 125e3)]
    assert chosen == sorted(chosen)
    assert chosen[0] == 0 and chosen[-1] >= 4
    drawing = np.zeros((720, 1280, 4), np.uint8)
    assert PictureCoder().choose(drawing, 5e6).is_exact  # a drawing needs no loss


def test_what_is_looked_at_takes_turns() -> None:
    """A line that takes one sample at a time takes each in turn, even if all are replaced meanwhile."""
    outbox, names, taken = Outbox(), ["viewers/a", "canvas/b", "looking/c"], []
    for number in range(12):
        for name in names:
            made = Sample(name, picture_of("a"), number)
            outbox.put_sample(name, lambda _, made=made: made)
        taken += outbox.take_samples(np.ndarray.copy, 1)
    assert [sample.name for sample in taken] == names * 4
    assert [sample.frame for sample in taken] == list(range(12))


def test_sizes_are_learned() -> None:
    """A picture that turns out larger than usual gets a coarser coding the next time."""
    noise = np.random.default_rng(2).integers(0, 256, (360, 640, 4), np.uint8)
    coder, rate = PictureCoder(), 2.5e6
    for _ in range(6):
        coding = coder.choose(noise, rate)
        size = len(coder.code(Sample("show", picture_of("show"), 1, data=noise), coding).data)
    assert size / rate < 1.5 * BUDGET_S


@given(
    st.sampled_from([each.name for each in CODINGS] + ["png"]),
    st.tuples(st.integers(-1, 9), st.integers(-1, 9)),
    st.tuples(st.integers(-1, 9), st.integers(-1, 9)),
    st.binary(max_size=90),
    st.binary(max_size=9),
)
def test_wrong_data_are_refused(
    coding: str, size: tuple[int, int], shown: tuple[int, int], data: bytes, alpha: bytes
) -> None:
    """Data that are not of their coding raise a DecodeError, or are a picture of the size that is shown."""
    try:
        there = decoded(CodedPicture(Sample("show", picture_of("show"), 1), coding, size, shown, data, alpha=alpha))
    except msgspec.DecodeError:
        return
    assert there.data.shape == (shown[1], shown[0], 4)


texts = st.text("abc/é", max_size=9) | st.just("/cache/0/home/a.cu") | st.just("in /cache/0/home, or /cache/0/x")


@given(st.recursive(texts | st.integers() | st.floats(allow_nan=False) | st.binary(max_size=9) | st.none(), st.lists))
def test_frames_lose_the_mirror_and_nothing_else(value: object) -> None:
    """The folder of the mirror is gone from all texts of a frame, and all else is as it was."""

    def without(each: object) -> object:
        if isinstance(each, list):
            return list(map(without, each))
        return each.replace("/cache/0", "") if isinstance(each, str) else each

    try:
        frame = msgspec.msgpack.encode(value)
    except OverflowError:
        return
    assert msgspec.msgpack.decode(renamed(frame, b"/cache/0")) == without(value)
