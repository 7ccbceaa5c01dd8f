"""Pictures for a line: each as exact as its rate allows."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import numpy as np
from msgspec.structs import replace

from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.platforms.files import named_contents
from warploom.engine.protocol.elsewhere.messages import CodedPicture
from warploom.engine.protocol.sampling import Sample
from warploom.engine.types import Array

#: The time in which a picture should be coded and sent.
BUDGET_S = 1 / 15
#: The largest picture, in bytes, that is decoded.
_MOST_BYTES = 1 << 30


class Coding(msgspec.Struct, frozen=True):
    """A way to make a picture smaller: its pixels as they are, by zlib, or as JPEG of a quality, each `step`th pixel.

    `pixel_bytes` is what it usually needs for each pixel of the picture, and `pixel_s` the time.
    """

    name: str
    pixel_bytes: float
    pixel_s: float
    quality: int = 0
    step: int = 1

    @property
    def is_exact(self) -> bool:
        """True when all pixels arrive as they are."""
        return not self.quality


#: From the most exact to the smallest.
CODINGS = (
    Coding("plain", 4.0, 0.0),
    Coding("zlib", 1.6, 40e-9),
    Coding("jpeg", 0.5, 10e-9, 92),
    Coding("jpeg", 0.2, 8e-9, 75),
    Coding("jpeg", 0.06, 3e-9, 75, 2),
    Coding("jpeg", 0.02, 1e-9, 70, 4),
)
_PLAIN, _ZLIB = CODINGS[:2]


@dataclass
class PictureCoder:
    """Chooses the coding of each picture by the line's rate and by the sizes of earlier pictures."""

    #: What each coding needed for a pixel.
    _pixel_bytes: dict[Coding, float] = field(default_factory=lambda: {each: each.pixel_bytes for each in CODINGS})

    def choose(self, pixels: Array, rate: float) -> Coding:
        """Return the most exact coding of a picture that the line can carry in time."""
        count = pixels.shape[0] * pixels.shape[1]
        # Drawings shrink far more than photographs, so a part of the rows tells.
        sample = np.ascontiguousarray(pixels[:: max(1, pixels.shape[0] // 16)])
        self._pixel_bytes[_ZLIB] = 4 * len(_deflated(sample)) / max(sample.nbytes, 1)

        def time_s(coding: Coding) -> float:
            seconds: float = count * (coding.pixel_s + self._pixel_bytes[coding] / rate)
            return seconds

        return next((coding for coding in CODINGS if time_s(coding) <= BUDGET_S), CODINGS[-1])

    def code(self, sample: Sample, coding: Coding) -> CodedPicture:
        """Return a picture in a coding; the value of the probed pixel is sent exactly."""
        pixels, alpha = sample.data, b""
        assert pixels is not None
        height, width = pixels.shape[:2]
        rest = replace(sample, data=None)
        if coding is _PLAIN:
            data, size = pixels.tobytes(), (width, height)
        elif coding is _ZLIB:
            data, size = _deflated(pixels), (width, height)
        else:
            row, column = sample.sampling.probe or (height, width)
            if sample.shape == (height, width) and row < height and column < width:
                rest = replace(rest, probed=pixels[row, column].copy())
            small = np.ascontiguousarray(pixels[:: coding.step, :: coding.step])
            data, size = encode_picture(small, ".jpg", quality=coding.quality), (small.shape[1], small.shape[0])
            if not (small[..., 3] == 255).all():
                alpha = _deflated(small[..., 3])
        bytes_each = (len(data) + len(alpha)) / max(width * height, 1)
        self._pixel_bytes[coding] = (self._pixel_bytes[coding] + bytes_each) / 2
        return CodedPicture(rest, coding.name, size, (width, height), data, alpha)


def decoded(coded: CodedPicture) -> Sample:
    """Return the picture. Raise msgspec.DecodeError if its data are not of its coding."""
    (width, height), (shown_width, shown_height) = coded.size, coded.shown
    is_sound = all(0 < n <= shown or n == shown == 0 for n, shown in zip(coded.size, coded.shown, strict=True))
    if not is_sound or 4 * shown_width * shown_height >= _MOST_BYTES:
        raise msgspec.DecodeError(f"a picture must have a size, got {coded.size} of {coded.shown}")
    try:
        pixels = _DECODERS[coded.coding](coded.data, (height, width, 4))
        if coded.alpha:
            pixels[..., 3] = _inflated(coded.alpha, (height, width))
        if coded.size != coded.shown:
            rows, columns = (
                np.arange(n) * small // max(n, 1) for n, small in ((shown_height, height), (shown_width, width))
            )
            pixels = pixels[rows[:, None], columns]
    except (ValueError, KeyError, zlib.error) as problem:
        raise msgspec.DecodeError(f"a picture must be of its coding, got: {problem}") from None
    return replace(coded.sample, data=pixels)


def _plain(data: bytes, shape: tuple[int, ...]) -> Array:
    return np.frombuffer(data, np.uint8).reshape(shape).copy()


def _deflated(array: Array) -> bytes:
    """Return an array as zlib, each element as its difference from the one before it in its row."""
    differences = array.copy()
    differences[:, 1:] -= array[:, :-1]
    return zlib.compress(differences.tobytes(), 1)


def _inflated(data: bytes, shape: tuple[int, ...]) -> Array:
    return np.cumsum(_plain(zlib.decompress(data), shape), axis=1, dtype=np.uint8)


def _from_jpeg(data: bytes, shape: tuple[int, ...]) -> Array:
    import OpenImageIO  # only pictures on a slow line need it

    pixels = np.full(shape, 255, np.uint8)
    with named_contents() as file:
        file.write(data)
        source = OpenImageIO.ImageInput.open(file.name)
        if source is None:
            raise ValueError(OpenImageIO.geterror())
        colours = source.read_image(0, 0, 0, 3, "uint8")
        source.close()
        if colours is None:
            raise ValueError(source.geterror())
        pixels[..., :3] = colours
    return pixels


_DECODERS: dict[str, Callable[[bytes, tuple[int, ...]], Array]] = {
    "plain": _plain,
    "zlib": _inflated,
    "jpeg": _from_jpeg,
}
