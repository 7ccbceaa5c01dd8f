import time
from contextlib import nullcontext, suppress
from functools import lru_cache
from pathlib import Path

from warploom.api import BlockBuilder, LiveBlock, Moment, Out, Value, float4, open_file, param, port, value_port
from warploom.blocks.io.pixels import pixels_param
from warploom.blocks.video.films.film_reader import FilmReader
from warploom.blocks.video.films.film_source import FilmInfo, FilmSource, is_address, is_live
from warploom.blocks.video.frame_feed import PACKED, describe_frames
from warploom.blocks.video.live_reader import LiveReader
from warploom.engine.diagnostics import Incomplete, PatchError

#: Choices of the clock.
CLOCKS = ("patch", "own", "position")
#: Choices of the decoder.
DECODERS = ("automatic", "GPU", "CPU")


class LoadVideo(
    LiveBlock,
    id="io.load_video",
    tags=("film", "movie", "clip", "file", "open", "mp4", "mov", "mkv", "webm", "rtsp", "stream", "camera"),
):
    """Plays a film or a stream as linear RGBA.

    Reads MP4, MOV, MKV, WebM, AVI and other files of FFmpeg's codecs at full depth, with alpha and turned upright. With
    the clock "patch", the position is the patch's time, multiplied by the speed: the same frame shows the same picture
    in every run. With "own", the film plays on at its speed, which may be driven, and can be paused. With "position",
    it shows the position that is set or driven. Frames are decoded ahead on another thread. While the patch plays, a
    frame that isn't decoded in time is shown as soon as it is. A film that takes the file's place is played from the
    same position. An address such as rtsp://host/stream or
    https://host/film.mp4 may be used instead of a file; live streams show their newest frame.

    While the engine runs on an NVIDIA GPU, its video decoder (NVDEC) decodes H.264, HEVC, VP8, VP9 and AV1 in files, as
    far as the GPU knows them; the CPU decodes everything else, and live streams. `on_gpu` is true if the GPU decodes.
    The pictures are the same.
    """

    out: Out[float4] = port(dtype="given", shape="[1, 1]", rank=2, doc="The frame, linear RGBA, shape [height, width].")
    position_s: Value[float] = value_port(doc="Time of the shown frame in the film.", unit="s")
    length_s: Value[float] = value_port(doc="Length of the film; 0 for a stream.", unit="s")
    is_new: Value[bool] = value_port(doc="True in frames that show another picture than before.")
    on_gpu: Value[bool] = value_port(doc="True while the GPU decodes the film.")
    file: Path = param("", files="open video", doc="The film; a relative path starts at the patch's folder.")
    address: str = param("", doc="Address of a stream or film on a server, which is used instead of a file.")
    clock: str = param("patch", choices=CLOCKS, structural=True, doc="What moves the film: see the help.")
    speed: float = param(1.0, min=-100, max=100, doc="Speed; -1 plays backwards, 0 stops.")
    at: float = param(0.0, min=0, max=1e9, unit="s", doc="Position to show, or where the film starts.")
    loop: bool = param(True, doc="Start again after the end.")
    playing: bool = param(True, doc='With the clock "own", play; otherwise pause.')
    restart: bool = param(False, doc='With the clock "own", go back to the start when this becomes true.')
    pixels: str = pixels_param()
    decoder: str = param(
        "automatic",
        choices=DECODERS,
        structural=True,
        doc='What decodes a film. "GPU" warns if the GPU can\'t, and the CPU does.',
    )

    #: With the mark of the frame whose bytes a saved state has.
    saved = ("_shown", "_moved_s", "_was_restart", "_has_begun")
    carried = ("_moved_s", "_was_restart", "_has_begun")

    def source(self) -> str:
        """Return the address, which not every patch may connect to."""
        return f"stream:{self.address}" if self.address else ""

    def describe(self, build: BlockBuilder) -> None:
        """Allocate a frame's bytes, and launch one thread per pixel."""
        source = self._source
        if not is_address(source):
            with suppress(OSError):  # an engine that watches files then plays a film that takes its place
                open_file(Path(source)).close()
        describe_frames(build, self.out, _info(source).layout, self.pixels)

    @property
    def _source(self) -> str:
        if self.address:
            if not is_address(self.address):
                raise PatchError(f"address must be like rtsp://host/stream, got {self.address}")
            return self.address
        if not str(self.file):
            raise Incomplete("file", "name a film")
        return str(self.file)

    def start(self) -> None:
        """Open the film, on a thread of its own."""
        self._film: FilmReader | None = None
        self._stream: LiveReader | None = None
        self.goes_on()
        if not is_live(self._source):
            kind, _, number = self.engine_device.partition(":")
            has_gpu = kind == "cuda" and self.decoder != "CPU"
            gpu, share = (int(number), self.share_device) if has_gpu else (None, nullcontext)
            self._film = FilmReader(self._source, gpu, share)
        elif not self.is_replay:
            self._stream = LiveReader(self._source, _info(self._source).layout)

    def goes_on(self) -> bool:
        """Keep the film open, with the frames that are decoded."""
        self._shown: float | None = None
        self._before_own_s: float | None = None
        self._moved_s, self._was_restart, self._has_begun = 0.0, True, False
        return True

    def update(self, now: Moment) -> None:
        """Give the frame of this time, if it is another one."""
        elapsed_s, self._has_begun = now.time_step_s if self._has_begun else 0.0, True
        self.is_new = False
        if self._film is not None:
            self._play(self._film, now, elapsed_s)
            self._tell_decoder(self._film)
        elif self._stream is not None:
            self._follow(self._stream, now)

    def _follow(self, stream: LiveReader, now: Moment) -> None:
        try:
            newest = stream.newest(self.waits)
        except PatchError as problem:
            self.notice = f"{problem}; it is tried again"
            return
        self.notice = ""
        if newest is not None:
            self._show(newest[0], float(newest[1]), now.time_s)

    def _play(self, film: FilmReader, now: Moment, elapsed_s: float) -> None:
        speed = self.speed
        if self.clock == "position":
            wanted_s, speed = self.at, 1.0
        elif self.clock == "patch":
            wanted_s = self.at + now.time_s * speed
        else:
            wanted_s, speed = self._own_position_s(elapsed_s), speed if self.playing else 0.0
        length_s = film.length_s or (film.info.length_s if self.waits else 0.0)
        if self.loop and length_s and self.clock != "position":
            wanted_s = (wanted_s + 1e-6) % length_s - 1e-6  # sums of steps end just before a whole one
        elif wanted_s < 0:
            wanted_s = 0.0
        shown = film.frame_at(wanted_s, self.waits, speed=speed, loop=self.loop)
        self.length_s = film.length_s
        if shown is not None:
            self._show(shown[0], shown[1], shown[1])

    def _tell_decoder(self, film: FilmReader) -> None:
        self.on_gpu = film.is_on_gpu
        if self.decoder == "GPU" and not self.on_gpu:
            why = film.why_not_gpu or ("" if self.engine_device.startswith("cuda") else "an engine on the CPU")
            self.notice = f"film must be decoded by the GPU, got {why}; the CPU decodes it" if why else ""

    def _own_position_s(self, elapsed_s: float) -> float:
        own_s = time.monotonic()
        if not self.waits and self._before_own_s is not None:
            elapsed_s = own_s - self._before_own_s  # the film goes on while the patch is late
        self._before_own_s = own_s
        if self.restart and not self._was_restart:
            self._moved_s = 0.0
        elif self.playing:
            self._moved_s += elapsed_s * self.speed
        self._was_restart = self.restart
        return self.at + self._moved_s

    def _show(self, packed: object, mark: float, position_s: float) -> None:
        if mark != self._shown:
            self.give(PACKED, packed)  # type: ignore[arg-type]
            self._shown, self.position_s, self.is_new = mark, position_s, True

    def close(self) -> None:
        """Close the film."""
        for reader in (self._film, self._stream):
            if reader is not None:
                reader.close()


def _info(source: str) -> FilmInfo:
    """Return what is known of a film, which is opened for it unless it is known since its last change."""
    try:
        stamp = None if is_address(source) else Path(source).stat()
    except OSError:
        stamp = None
    return _probed(source, stamp and (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(32)
def _probed(source: str, _: tuple[int, int] | None) -> FilmInfo:
    film = FilmSource(source, only_looks=True)
    film.close()
    return film.info
