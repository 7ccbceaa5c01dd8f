from math import floor
from pathlib import Path

from warploom.api import BlockBuilder, LiveBlock, Moment, Out, Value, float4, param, port, value_port
from warploom.blocks.io.decode_image import load_linear
from warploom.blocks.video.image_sequence import ImageSequence, find_pictures
from warploom.engine.diagnostics import Incomplete, PatchError

#: Choices of what selects the picture.
SELECTIONS = ("time", "index")
#: Choices of what becomes of pictures of other sizes.
SIZES = ("fit", "same")


class LoadImages(
    LiveBlock,
    id="io.load_images",
    tags=("sequence", "frames", "folder", "numbered", "slides", "exr", "png", "dpx", "animation"),
):
    """Plays pictures of a folder, one after the other, as linear RGBA.

    `files` is a folder, or a pattern in which # stands for a digit and * for any text, such as shots/frame_####.exr.
    Pictures are ordered by the numbers in their names, and are read as Load Image reads them. The first one has the
    size of all: others are scaled to fit into it, in the middle of a transparent picture, unless `sizes` refuses them.
    By "time", `rate` pictures are shown a second; by "index", the one whose number from 0 is set or driven, as in a
    slide show. Pictures are decoded ahead on other threads.
    """

    out: Out[float4] = port(shape="[1, 1]", rank=2, doc="The picture, linear RGBA, shape [height, width].")
    shown: Value[int] = value_port(doc="Number of the shown picture, from 0.")
    count: Value[int] = value_port(doc="Number of pictures.")
    is_new: Value[bool] = value_port(doc="True in frames that show another picture than before.")
    files: Path = param("", files="open images", doc="A folder, or a pattern such as shots/frame_####.png.")
    by: str = param("time", choices=SELECTIONS, doc="What selects the picture.")
    rate: float = param(25.0, min=-1000, max=1000, unit="1/s", doc="By time: pictures a second; below 0 backwards.")
    index: float = param(0.0, min=0, max=1e9, doc="By index: number of the picture from 0, rounded down.")
    loop: bool = param(True, doc="Start again after the last picture.")
    sizes: str = param(
        "fit", choices=SIZES, structural=True, doc="Fit pictures of another size than the first one, or refuse them."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Let each update give a picture of the first one's size."""
        if not str(self.files):
            raise Incomplete("files", "name a folder or a pattern")
        height, width, _ = load_linear(find_pictures(Path(self.files))[0]).shape
        build.define(self.out, shape=f"[{height}, {width}]")
        build.feed(self.out)

    def start(self) -> None:
        """Begin to decode, on threads."""
        size = self.fed["out"].shape if self.sizes == "fit" else None
        self._sequence = ImageSequence(find_pictures(Path(self.files)), size)
        self.count, self._last = len(self._sequence.paths), -1

    def update(self, now: Moment) -> None:
        """Give the picture of this frame, if it is another one."""
        wanted = floor(now.time_s * self.rate + 1e-6 if self.by == "time" else self.index)
        wanted = wanted % self.count if self.loop else min(max(wanted, 0), self.count - 1)
        step = -1 if self.by == "time" and self.rate < 0 else 1
        self.is_new = False
        if wanted == self._last:
            return
        picture = self._sequence.picture(wanted, self.waits, step=step, loop=self.loop)
        if picture is None:
            return
        height, width = self.fed["out"].shape
        if picture.shape[:2] != (height, width):
            name, size = self._sequence.paths[wanted].name, f"{picture.shape[1]} x {picture.shape[0]}"
            raise PatchError(
                f"{name} must have the first picture's size, {width} x {height}, got {size}; "
                'leave it out by a pattern, or let sizes be "fit"'
            )
        self.give("out", picture)
        self._last = self.shown = wanted
        self.is_new = True

    def close(self) -> None:
        """Stop decoding."""
        self._sequence.close()
