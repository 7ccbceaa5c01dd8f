"""Opens films and streams, and decodes their frames one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, tee
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warploom.api import LentMemory, SharedDevice
from warploom.blocks.video.films.frame_layout import FrameLayout, layout_of
from warploom.blocks.video.films.gpu_decoder import GpuDecoder, is_for_nvdec
from warploom.blocks.video.picture_writer import reason_of
from warploom.engine.diagnostics import DeviceError, KernelError, PatchError

if TYPE_CHECKING:
    import av

#: How long to wait for a server, in seconds: to connect, and for each read.
_PATIENCE_S = 10.0
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
#: Protocols whose streams have no past: a frame that is not shown at once is gone.
_LIVE = ("rtsp", "rtsps", "rtmp", "rtmps", "rtp", "srt", "udp", "tcp")
#: Decoders that know the alpha beside the picture, which FFmpeg's own leave out.
_WITH_ALPHA = {"vp8": "libvpx", "vp9": "libvpx-vp9"}


def load_av() -> ModuleType:
    """Return the library that decodes and encodes films. Raise PatchError when it is not installed."""
    try:
        import av
    except ImportError as problem:
        text = (
            f"films and cameras must have the library PyAV, got none ({problem}); type: pip install 'warploom[media]'"
        )
        raise PatchError(text) from None
    return av


def any_texts(av: ModuleType) -> dict[str, str]:
    """Return the options with which `open` of the library takes titles that are no UTF-8, as its version 19 does."""
    return {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}


def is_address(name: str) -> bool:
    """True for the address of a server, such as "rtsp://host/stream"."""
    return bool(_ADDRESS.match(name))


def is_live(name: str) -> bool:
    """True for an address whose frames come when they come."""
    return is_address(name) and name.partition(":")[0].lower() in _LIVE


@dataclass(frozen=True)
class FilmInfo:
    """What is known of a film before it plays. `length_s` is 0 if the film doesn't say."""

    layout: FrameLayout
    length_s: float
    #: Frames a second on average, 0 if unknown.
    rate: float
    has_sound: bool


class FilmSource:
    """The frames of a film, in order; times are in ticks since the first frame. For one thread at a time.

    `name` is a path, an address, or what another `form` of input takes. With the number of a `gpu` that is current on
    the thread, and shared, its NVDEC decodes the film, if it can: then `read_to_keep` returns bytes in memory of the
    GPU, as `info.layout` has them. A source that `only_looks` at the film decodes by one thread: the library holds the
    interpreter while it starts others. Raise PatchError when the film can't be opened.
    """

    def __init__(
        self,
        name: str,
        form: str | None = None,
        options: dict[str, str] | None = None,
        gpu: int | None = None,
        shared: SharedDevice | None = None,
        only_looks: bool = False,
    ) -> None:
        self._av = load_av()
        self._container: Any = None
        self._decoder: Any = None
        self._packets: Iterator[Any] = iter(())
        self._frames: Iterator[av.VideoFrame] = iter(())
        self._gpu, self._shared, self._only_looks = gpu, shared, only_looks
        #: NVDEC, if it decodes the film.
        self._nvdec: GpuDecoder | None = None
        #: Why the CPU decodes the film although there is a GPU; "" otherwise.
        self.why_not_gpu = ""
        self.name, self._form, self._options = name, form, options or {}
        if form is None and not is_address(name) and not Path(name).is_file():
            if not Path(name).exists():
                raise PatchError(f"film must exist, got {name}; choose another file, or put it there")
            raise PatchError(f"film {name} must be a readable film, got: it is not a file")
        if name.lower().startswith("rtsp"):
            self._options = {"rtsp_transport": "tcp"} | self._options
        try:
            self.open()
        except (OSError, ValueError, self._av.FFmpegError, StopIteration) as problem:
            self.close()
            reason = "no frames" if isinstance(problem, StopIteration) else reason_of(problem)
            raise PatchError(f"film {self.name} must be a readable film, got: {reason}") from problem

    def open(self) -> None:
        """Begin at the first frame, in the file as it is now."""
        self.close()
        is_path = self._form is None and not is_address(self.name)
        name = f"file:{self.name}" if is_path else self.name  # a path may have a colon
        self._container = self._av.open(
            name, "r", self._form, self._options, timeout=_PATIENCE_S, **any_texts(self._av)
        )
        if not self._container.streams.video:
            raise ValueError("no picture in it")
        self._stream: av.VideoStream = self._container.streams.video[0]
        if self._stream.codec_context is None:
            raise ValueError("pictures of an unknown codec")
        self._decoder = self._make_decoder()
        self._packets, again = tee(self._container.demux(self._stream))
        self._frames = self._decode()
        first = next(self._frames)
        self._first: av.VideoFrame | None = first
        base: Fraction = first.time_base or self._stream.time_base or Fraction(1, 1000)
        self._zero = first.pts or 0
        rate = float(self._stream.average_rate or self._stream.guessed_rate or 0)
        #: The length of a tick in seconds.
        self.tick_s = float(base)
        self.info = FilmInfo(
            layout_of(first, -int(first.rotation)), self._length_s(), rate, bool(self._container.streams.audio)
        )
        self._ticks_a_frame = max(1, round(1 / (rate or 25) / self.tick_s))
        self._untimed = -self._ticks_a_frame
        if self._gpu is not None:
            self._decode_on_gpu(self._gpu, again)

    @property
    def is_on_gpu(self) -> bool:
        """True if the GPU decodes the film."""
        return self._nvdec is not None

    def use_cpu(self, why: str) -> None:
        """Begin again with the CPU's decoder, since the GPU's has failed."""
        self._gpu, self.why_not_gpu = None, why
        self.open()

    def _decode_on_gpu(self, gpu: int, packets: Iterator[av.Packet[av.VideoStream]]) -> None:
        """Let the GPU decode the film from these first packets on, unless it fails with them."""
        usual, decoder = self._decoder, None
        try:
            decoder = GpuDecoder(self._av, usual, gpu, self._shared)
            first = next(frames for packet in packets if (frames := decoder.decode(packet)))
            decoder.pack(first[0], self.info.layout)
        except (OSError, ValueError, self._av.FFmpegError, StopIteration, DeviceError, KernelError) as problem:
            reason = "no frames" if isinstance(problem, StopIteration) else reason_of(problem)
            what = f"{usual.name}, {usual.pix_fmt}, {usual.width} x {usual.height}"
            if decoder is not None:
                decoder.close()
            self.use_cpu(f"a film that it refuses ({what}: {reason})")
            return
        usual.flush_buffers()
        self._decoder = self._nvdec = decoder
        self._packets, self._first = packets, None
        self._frames = chain(first, self._decode())

    def _make_decoder(self) -> av.VideoCodecContext:
        stream = self._stream
        name = _WITH_ALPHA.get(stream.codec_context.name)
        tags = {key.lower(): value for key, value in stream.metadata.items()}
        if name is None or tags.get("alpha_mode") != "1" or name not in self._av.codecs_available:
            is_alone = self._only_looks or (self._gpu is not None and is_for_nvdec(stream.codec_context.name))
            stream.thread_type = "NONE" if is_alone else "AUTO"
            return stream.codec_context
        decoder: Any = self._av.CodecContext.create(name, "r")
        decoder.extradata, decoder.thread_type = stream.codec_context.extradata, "AUTO"
        return decoder  # type: ignore[no-any-return]

    def _length_s(self) -> float:
        stream, tags = self._stream, {key.lower(): value for key, value in self._stream.metadata.items()}
        if stream.duration is not None and stream.time_base is not None:
            return float(stream.duration * stream.time_base)
        if match := re.match(r"(\d+):(\d+):([\d.]+)$", tags.get("duration", "")):
            return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
        return (self._container.duration or 0) / 1e6

    def _decode(self) -> Iterator[av.VideoFrame]:
        """Yield the frames from here to the end. Damaged packets are left out."""
        for packet in self._packets:
            try:
                yield from self._decoder.decode(packet)
            except self._av.InvalidDataError:
                continue

    def read(self) -> tuple[int, av.VideoFrame] | None:
        """Return the next frame and its time, None at the end. OSError and ValueError of the library propagate."""
        frame = self._first or next(self._frames, None)
        self._first = None
        if frame is None:
            return None
        if frame.pts is None:
            self._untimed += self._ticks_a_frame
        else:
            self._untimed = frame.pts - self._zero
        return self._untimed, frame

    def read_to_keep(self) -> tuple[int, av.VideoFrame | LentMemory] | None:
        """Return the next frame as `read` does, and copy one of the GPU's out of the decoder's few surfaces."""
        read = self.read()
        return read and (read[0], read[1] if self._nvdec is None else self._nvdec.pack(read[1], self.info.layout))

    def seek(self, time: int) -> None:
        """Go on at a frame of this time or before, from which the decoder can start."""
        self._first = None
        self._container.seek(time + self._zero, stream=self._stream, backward=True)
        if self._decoder is not self._stream.codec_context:
            self._decoder.flush_buffers()
        self._packets = self._container.demux(self._stream)
        self._frames = self._decode()

    def key_before(self, time: int) -> int | None:
        """Return the time of the last frame up to `time` at which the decoder can start; None if unknown."""
        entries = self._stream.index_entries
        at = entries.search_timestamp(time + self._zero) if len(entries) else -1
        return None if at < 0 else entries[at].timestamp - self._zero

    def close(self) -> None:
        """Close the file or the connection."""
        if self._container is not None:
            self._container.close()
            self._container = None
            self._forget()

    def _forget(self) -> None:
        """Forget the decoder and what it has decoded."""
        self._decoder, self._packets, self._frames, self._first = None, iter(()), iter(()), None
        if self._nvdec is not None:
            self._nvdec.close()
            self._nvdec = None
