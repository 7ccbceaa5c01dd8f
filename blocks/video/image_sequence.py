"""Reads numbered pictures, a few ahead of the one that is shown, and writes them."""

import re
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import files_at
from warploom.blocks.io.decode_image import PICTURES, load_linear
from warploom.blocks.video.picture_writer import PictureWriter
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: Pictures that are decoded ahead, and the memory for those that are kept.
AHEAD = 4
_KEPT_BYTES = 512 << 20


def find_pictures(place: Path) -> list[Path]:
    """Return the pictures of a folder, or those that fit a pattern, in the order of the numbers in their names.

    In a pattern's name, each # stands for a digit and * for any text: frame_####.png, shots/*.exr. Raise PatchError if
    there are none.
    """
    if not (place.is_dir() or set("#*?") & set(place.name)):
        raise PatchError(f"images must be a folder or a pattern such as frame_####.png, got {place}, which is neither")
    found = [path for path in files_at(place) if not place.is_dir() or path.suffix.lower() in PICTURES]
    if not found:
        raise PatchError(f"images must be there, got none that fit {place}")
    return sorted(found, key=lambda path: [int(t) if t.isdecimal() else t for t in re.split(r"(\d+)", path.name)])


def fitted(picture: Array, height: int, width: int) -> Array:
    """Return a picture, linear f32[..., 4], scaled to fit into a size, in the middle of a transparent one."""
    import OpenImageIO  # only patches with pictures need it

    before = picture.shape[:2]
    if before == (height, width):
        return picture
    share = min(height / before[0], width / before[1])
    size = [min(max(1, round(share * side)), most) for side, most in zip(before, (height, width), strict=True)]
    weighed = np.concatenate([picture[..., :3] * picture[..., 3:], picture[..., 3:]], axis=-1)
    region = OpenImageIO.ROI(0, size[1], 0, size[0], 0, 1, 0, 4)
    scaled = OpenImageIO.ImageBufAlgo.resize(OpenImageIO.ImageBuf(weighed), "triangle", roi=region)
    pixels = np.asarray(scaled.get_pixels(OpenImageIO.FLOAT))
    alpha = pixels[..., 3:]
    top, left = (height - size[0]) // 2, (width - size[1]) // 2
    found = np.zeros((height, width, 4), np.float32)
    shown = found[top : top + size[0], left : left + size[1]]
    shown[..., 3:] = alpha
    np.divide(pixels[..., :3], alpha, out=shown[..., :3], where=alpha > 0)
    return found


class ImageSequence:
    """Decodes pictures on threads of its own; `picture` may be called from one other thread.

    With a `size`, height and width, pictures are scaled to fit into it.
    """

    def __init__(self, paths: list[Path], size: tuple[int, ...] | None = None) -> None:
        self.paths, self._size = paths, size
        self._threads = ThreadPoolExecutor(2, "warploom-pictures")
        self._futures: OrderedDict[int, Future[Array]] = OrderedDict()
        self._lock = threading.Lock()

    def picture(self, index: int, wait: bool = False, *, step: int = 1, loop: bool = False) -> Array | None:
        """Return a picture, linear f32[height, width, 4]; None if it isn't decoded yet and `wait` is false.

        The next ones in the direction of `step` are decoded ahead. Raise PatchError if the file can't be read.
        """
        count = len(self.paths)
        for ahead in range(AHEAD):
            number = index + ahead * step
            if loop:
                number %= count
            if 0 <= number < count:
                self._request(number)
        wanted = self._futures[index]
        self._forget(wanted)
        return wanted.result() if wait or wanted.done() else None

    def close(self) -> None:
        """Stop decoding; don't wait for the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _request(self, number: int) -> None:
        if number not in self._futures:
            self._futures[number] = self._threads.submit(self._read, self.paths[number])
        self._futures.move_to_end(number)

    def _read(self, path: Path) -> Array:
        picture = load_linear(path)
        return picture if self._size is None else fitted(picture, *self._size)

    def _forget(self, wanted: Future[Array]) -> None:
        """Forget the pictures that were asked for first, beyond the memory for them."""
        size = wanted.result().nbytes if wanted.done() and wanted.exception() is None else 1
        while len(self._futures) > max(2 * AHEAD, _KEPT_BYTES // size if size > 1 else 0):
            self._futures.popitem(last=False)[1].cancel()


def is_numbered(place: Path) -> bool:
    """True for a pattern of numbered pictures, such as frame_####.png."""
    return "#" in place.name


class SequenceWriter(PictureWriter):
    """Writes numbered pictures: u8 is sRGB, and f32 linear light as it is; # in the name stands for a digit."""

    def __init__(self, path: Path, width: int, height: int) -> None:
        super().__init__(path, width, height)
        self._begin()

    def _open(self) -> None:
        """Each picture is a file of its own."""

    def _encode(self, pixels: Array, number: int) -> None:
        import OpenImageIO  # only patches with pictures need it

        self.path.parent.mkdir(parents=True, exist_ok=True)
        path = self.path.with_name(re.sub("#+", lambda run: f"{number:0{len(run[0])}}", self.path.name, count=1))
        linear = pixels.dtype == np.float32
        output = OpenImageIO.ImageOutput.create(str(path))
        if output is None:
            raise ValueError(f"no image format whose files end in {path.suffix!r}")
        channels = 4 if output.supports("alpha") else 3
        if linear and output.format_name() == "openexr":  # which stores colours multiplied by alpha
            pixels = np.concatenate([pixels[..., :3] * pixels[..., 3:], pixels[..., 3:]], axis=-1)
        spec = OpenImageIO.ImageSpec(self.width, self.height, channels, "float" if linear else "uint8")
        spec.attribute("oiio:UnassociatedAlpha", 1)
        spec.attribute("oiio:ColorSpace", "lin_rec709_scene" if linear else "srgb_rec709_scene")
        stored = np.ascontiguousarray(pixels[..., :channels])
        if not (output.open(str(path), spec) and output.write_image(stored) and output.close()):
            raise ValueError(output.geterror().split("\n")[0] or "an image that its format refuses")

    def _end(self, *, finishes: bool) -> None:
        """Each file is closed already."""
