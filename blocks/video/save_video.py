import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import floor
from pathlib import Path
from uuid import uuid4

import numpy as np

from warploom.api import (
    BlockBuilder,
    DType,
    In,
    Kernel,
    LiveBlock,
    Moment,
    OpGraphSource,
    Taken,
    Value,
    f32,
    float4,
    param,
    port,
    u8,
    uchar4,
    ushort4,
    value_port,
)
from warploom.blocks.io.pixels import PIXEL
from warploom.blocks.sound.windows import RATE, channels_of, newest, samples_in
from warploom.blocks.video.films.codecs import BY_NAME, CODECS, QUALITIES, check_encoding, is_deep, takes_planes
from warploom.blocks.video.films.film_source import load_av
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.blocks.video.films.sound_track import SoundTrack
from warploom.blocks.video.image_sequence import SequenceWriter, is_numbered
from warploom.blocks.video.picture_writer import Array, PictureWriter
from warploom.engine.diagnostics import Incomplete, PatchError

#: Suffixes of numbered pictures that hold linear light.
LINEAR = (".exr", ".tif", ".tiff", ".hdr", ".pfm")
#: Choices of the frames that are recorded.
TIMINGS = ("every frame", "real time")
#: The most frames whose contents are waited for.
_MOST_WAITING = 64


@dataclass(frozen=True)
class _Frame:
    """A recorded frame: its number, its time, and the sound from `start` to `end`, in samples.

    All count from the first frame that the block has recorded.
    """

    number: int
    time_s: float
    start: int
    end: int


class SaveVideo(
    LiveBlock,
    id="io.save_video",
    tags=("film", "movie", "record", "export", "write", "render", "mp4", "mov", "mkv", "prores", "h264", "hevc", "av1"),
):
    """Records an image as a film, or as numbered pictures, while `recording` is true.

    The file name's extension decides the container and, unless you choose one, the codec: H.264 for .mp4 and .mkv,
    ProRes for .mov, AV1 for .webm, lossless FFV1 for .avi. ProRes of quality "high" and FFV1 keep alpha. Each recording
    is a file of its own: the second one has -2 in its name. A recording goes on while a timeline turns or the patch
    begins again; frames that are only run to go to another one are not in it. With "every frame", each frame of the
    patch is one of the film; with "real time", a frame is shown for as long as in the patch. A connected sound is
    recorded too, in step with the pictures: where these are faster or slower than in the patch, so is the sound.
    Encoding runs on another thread. A frame for which the encoder is too slow is dropped and counted, and the one
    before it shown for longer; frames by hand and `warploom run` wait instead. A film whose recording is cut off by a
    crash can be played up to there. A name with #, such as frame_####.exr, makes numbered pictures, which have no
    sound; EXR, TIFF, HDR and PFM hold linear light as floats; # stands for a digit.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to record, linear RGBA, shape [height, width].")
    sound: In[f32] = port(
        optional=True,
        advised=False,
        doc="Sound to record, as for Save Audio: windows of shape [samples] or [channels, samples].",
    )
    frames: Value[int] = value_port(doc="Frames in the film.")
    dropped: Value[int] = value_port(doc="Frames that are missing, since the encoder was late.")
    file: Path = param(
        "film.mp4", files="save video", doc="File to write: .mp4, .mov, .mkv, .webm, .avi, or frame_####.png."
    )
    recording: bool = param(False, doc="Record while this is true.")
    codec: str = param(BY_NAME, choices=CODECS, doc="Codec of the film.")
    quality: str = param("high", choices=QUALITIES, doc="Quality of the film; H.264, HEVC and FFV1 can be lossless.")
    rate: float = param(60.0, min=1, max=1000, unit="1/s", structural=True, doc="Frames a second of the film.")
    timing: str = param("every frame", choices=TIMINGS, doc="Which frames of the patch become frames of the film.")
    sound_rate: int = param(
        RATE, min=8000, max=192000, unit="Hz", structural=True, doc="Samples a second of the sound, as at its source."
    )

    encoded = OpGraphSource.of_expression(f"c = image{PIXEL}", output="pixels", output_type=uchar4, image=float4)
    deep = OpGraphSource.of_expression(
        f"c = image{PIXEL.replace('* 255', '* 65535')}", output="pixels", output_type=ushort4, image=float4
    )

    linear = OpGraphSource.of_expression("image", output="pixels", output_type=float4, image=float4)
    to_planes = Kernel("film.cu", entry="pixels_to_planes")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel, which encodes it as sRGB."""
        if not str(self.file):
            raise Incomplete("file", "name a film")
        graph: OpGraphSource = self.encoded
        dtype: DType = uchar4
        if is_numbered(Path(self.file)):
            if Path(self.file).suffix.lower() in LINEAR:
                graph, dtype = self.linear, float4
        else:
            check_encoding(Path(self.file), self.codec, self.quality)
            load_av()
            if is_deep(Path(self.file), self.codec):
                graph, dtype = self.deep, ushort4
        build.watch(self.sound)  # first, so that a frame's sound comes before its picture
        pixels = build.buffer("pixels", dtype, shape="same(image)")
        build.compute(graph, over=pixels)
        if self._has_planes:
            planes = build.buffer("planes", u8, "[6, (image.dim0 + 1) // 2, (image.dim1 + 1) // 2]")
            threads, size = (planes.dim(2), planes.dim(1)), (self.image.dim(1), self.image.dim(0))
            build.launch(self.to_planes, num_threads=threads, thread_block=(256, 1), args=(pixels, planes, *size))
            pixels = planes
        build.watch(pixels)

    @property
    def _has_planes(self) -> bool:
        """True if pixels are converted on the device to what the encoder takes."""
        path = Path(self.file)
        return not is_numbered(path) and takes_planes(path, self.codec, self.quality)

    def start(self) -> None:
        """Begin with no film."""
        self._writer: PictureWriter | None = None
        self._ending: list[PictureWriter] = []
        self._track: SoundTrack | None = None
        #: The frames whose contents have not come, in their order: None for one that is not recorded.
        self._frames: dict[int, _Frame | None] = {}
        self._windows: dict[int, Taken] = {}
        #: The last frame that was recorded, and the first one of the film.
        self._last = self._first = _Frame(-1, 0.0, 0, 0)
        self._missed = self.missed
        #: Why the rest of this recording is left out, "" while all is well.
        self._failed = ""
        self.frames = self.dropped = 0

    def goes_on(self) -> bool:
        """Go on with the same film when the patch begins again."""
        return True

    def update(self, now: Moment) -> None:
        """Pass on the frames that were recorded, and remember whether this one is."""
        try:
            self._take()
        finally:
            self._note(now)
            for writer in [writer for writer in self._ending if writer.is_done]:
                self._ending.remove(writer)
                self._try(writer.close)

    def _note(self, now: Moment) -> None:
        """Remember whether a frame is recorded that begins now."""
        self._frames.pop(now.frame, None)
        if not self.recording or self.is_replay:
            self._frames[now.frame] = None
        elif self.counts:
            before, heard = self._last, samples_in(now, self.sound_rate)
            self._last = _Frame(before.number + 1, before.time_s + now.time_step_s, before.end, before.end + heard)
            self._frames[now.frame] = self._last
        for never in list(self._frames)[:-_MOST_WAITING]:
            del self._frames[never]  # its contents never came

    def _take(self) -> None:
        for sound in self.taken("sound"):
            self._windows[sound.frame] = sound
        for frame, pixels in self.taken("planes" if self._has_planes else "pixels"):
            window = self._windows.pop(frame) if frame in self._windows else None
            if frame not in self._frames:
                continue
            recorded = self._frames.pop(frame)
            if recorded is None:
                self._failed = ""  # the next recording is another try
                self._end()
            elif not self._failed and not self._try(partial(self._add, pixels, window, recorded)):
                self._failed = self.notice
                self._try(self._end)
        for late in list(self._windows)[:-_MOST_WAITING]:
            del self._windows[late]  # its picture never came
        if self.missed > self._missed:
            self.dropped, self._missed = self.dropped + self.missed - self._missed, self.missed
        if self._failed:
            raise PatchError(self._failed)

    def _try(self, work: Callable[[], None]) -> bool:
        """Do it, and return whether that was possible; if not, the block says why until the next film begins."""
        try:
            work()
        except PatchError as problem:
            self.notice = str(problem)
            return False
        return True

    def _add(self, pixels: Array, window: Taken | None, frame: _Frame) -> None:
        if self._has_planes:
            pixels = pixels.reshape(3 * pixels.shape[1], 2 * pixels.shape[2])
        width, height = pixels.shape[1], pixels.shape[0] * 2 // 3 if self._has_planes else pixels.shape[0]
        writer = self._writer
        if writer is None or (writer.width, writer.height) != (width, height):
            self._end()
            writer = self._begin(width, height, frame)
        number: int | None = frame.number - self._first.number
        if self.timing == "real time":
            number = floor((frame.time_s - self._first.time_s) * self.rate + 1e-6)
            if number <= writer.last and self._track is None:
                return
        elif not isinstance(writer, FilmWriter):
            number = None  # pictures are numbered without gaps
        if self._track is not None and isinstance(writer, FilmWriter):
            self._add_sound(writer, self._track, window, frame)
            if number is not None and number <= writer.last:
                return
        if writer.write(pixels, number, wait=self.waits):
            self.frames = writer.last + 1
        else:
            self.dropped += 1

    def _add_sound(self, writer: FilmWriter, track: SoundTrack, window: Taken | None, frame: _Frame) -> None:
        """Add the sound up to the end of a frame; what its window doesn't have is silent."""
        if window is None:
            return  # the next window may have it
        count = frame.end - self._first.start - track.given
        samples = newest(window, max(count, 0), "sound")
        if samples.shape[1] != track.channels:
            raise PatchError(f"sound must keep its {track.channels} channels during a film, got {samples.shape[1]}")
        samples = np.pad(samples, ((max(count, 0) - len(samples), 0), (0, 0)))
        until = track.given + len(samples)
        if self.timing == "every frame":
            until = round((frame.number + 1 - self._first.number) * self.sound_rate / writer.rate)
        writer.write_sound(track.add(samples, until).T)

    def _begin(self, width: int, height: int, frame: _Frame) -> PictureWriter:
        name = Path(self.file)
        folder = self.file_to_write(str(name.with_name(f".{uuid4().hex}"))).parent  # nothing there is overwritten
        path = self.file_to_write(str(free_path(folder / name.name)))
        self._first, self.frames, self.dropped, self.notice = frame, 0, 0, ""
        sound = self.watched.get("sound")
        if is_numbered(path):
            self._writer = SequenceWriter(path, width, height)
            if sound is not None:
                self.notice = "sound must go into a film, got numbered pictures; connect it to Save Audio"
            return self._writer
        channels = channels_of(sound.shape, "sound") if sound is not None else 0
        self._writer = FilmWriter(
            path,
            width,
            height,
            self.rate,
            codec=self.codec,
            quality=self.quality,
            sound_rate=self.sound_rate if channels else 0,
            sound_channels=channels,
            at_once=not self.waits,
        )
        self._track = SoundTrack(channels) if channels else None
        return self._writer

    def _end(self) -> None:
        """Have the film finished beside the frames, or now where frames may wait."""
        writer, self._writer = self._writer, None
        track, self._track = self._track, None
        if writer is not None:
            self._ending.append(writer)
            if track is not None and isinstance(writer, FilmWriter):
                self._try(partial(writer.write_sound, track.end().T))
            writer.close(wait=self.waits)

    def close(self) -> None:
        """Finish the film."""
        known = self._failed
        try:
            self._take()
        except PatchError as problem:
            if str(problem) != known:  # otherwise the frames before have reported it
                raise
        finally:
            self._end()


def free_path(path: Path) -> Path:
    """Return the path, or one with a number after the name if there is such a file; of a pattern, if one fits."""
    taken = {each.name for each in path.parent.iterdir()} if path.parent.is_dir() else set()
    numbered = path
    for number in range(2, 100_000):
        pattern = re.compile(re.sub(r"(?:\\#)+", "[0-9]+", re.escape(numbered.name)))
        if not any(pattern.fullmatch(name) for name in taken):
            return numbered
        numbered = path.with_name(f"{path.stem}-{number}{path.suffix}")
    raise PatchError(f"folder of {path} must have room for another film, got 100,000 of this name; choose another name")
