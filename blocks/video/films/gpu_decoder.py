"""Decodes the packets of a film by NVDEC; the frames stay on the GPU."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from warploom.api import Kernel, LentMemory, SharedDevice
from warploom.blocks.video.films.frame_layout import FrameLayout

if TYPE_CHECKING:
    import av

#: Takes a plane out of a surface.
PLANE = Kernel("film.cu", entry="plane_of_surface")
#: FFmpeg's decoders that NVDEC can replace, by the decoder here. By their standards, both give the same bits.
_FOR_NVDEC = {"h264": "h264", "hevc": "hevc", "vp8": "vp8", "vp9": "vp9", "av1": "av1", "libdav1d": "av1"}


def is_for_nvdec(name: str) -> bool:
    """True for a decoder of FFmpeg's that NVDEC may replace."""
    return name in _FOR_NVDEC


class Surface(NamedTuple):
    """A plane of a decoded frame: an argument of a kernel."""

    pointer: int
    size_bytes: int


class GpuDecoder:
    """NVDEC in place of the decoder `usual`. It works in the context that is current, as `shared` does.

    A decoder has few surfaces for its frames, so `pack` copies each frame before the next packet is decoded. Raise
    ValueError, or an error of the library, if the GPU can't decode the film.
    """

    def __init__(self, library: ModuleType, usual: av.VideoCodecContext, gpu: int, shared: SharedDevice | None) -> None:
        if not is_for_nvdec(usual.name):
            raise ValueError("a codec that it doesn't decode")
        if not hasattr(library.video.plane.VideoPlane, "__dlpack__"):
            raise ValueError(f"PyAV {library.__version__}, which can't leave frames there; type: pip install -U av")
        from av.codec.hwaccel import HWAccel

        # A context of its own would hold up all threads: for 0.1 s at its start, and for 0.3 s at its end.
        options: Any = {"primary_ctx": "0", "current_ctx": "1"}
        self._decoder: Any = library.CodecContext.create(
            _FOR_NVDEC[usual.name], "r", HWAccel("cuda", gpu, options=options, is_hw_owned=True)
        )
        self._decoder.extradata, self._decoder.thread_count = usual.extradata, 1
        self._decoder.options = {"hwaccel_flags": "+unsafe_output"}  # surfaces themselves, not copies of them
        self._shared = shared
        self._newest: av.VideoFrame | None = None

    def decode(self, packet: av.Packet[Any]) -> list[av.VideoFrame]:
        """Return the frames that a packet completes."""
        frames: list[av.VideoFrame] = self._decoder.decode(packet)
        if frames:
            if frames[0].format.name != "cuda":  # FFmpeg has fallen back to the CPU by itself
                raise ValueError("a format that it doesn't decode")
            self._newest = frames[-1]
        return frames

    def flush_buffers(self) -> None:
        """Forget the packets so far, since the next one comes from another place in the film."""
        self._decoder.flush_buffers()

    def pack(self, frame: av.VideoFrame, layout: FrameLayout) -> LentMemory:
        """Return a frame's bytes as `layout.pack` does, in memory of the GPU."""
        if self._shared is None or (frame.width, frame.height) != (layout.columns, layout.rows):
            raise ValueError(f"frames of {frame.width} x {frame.height} pixels")
        self._shared.wait_for_others()
        packed, planes, at = self._shared.take(layout.size_bytes), frame.planes, 0
        for number, (rows, columns) in enumerate(layout.plane_sizes):
            is_joined = number > 0 and len(planes) == 2  # U and V are in one plane, by turns
            plane = planes[min(number, len(planes) - 1)]
            source = Surface(plane.buffer_ptr, rows * plane.line_size)
            steps = (2, number - 1) if is_joined else (1, 0)
            sizes = at, plane.line_size, columns, rows, *steps, layout.bits
            self._shared.run(PLANE, (columns, rows), (source, packed.memory, *sizes))
            at += rows * columns * layout.sample_bytes
        self._shared.wait()
        return packed

    def close(self) -> None:
        """End the decoder; no other frame may be in use.

        The library holds the interpreter while it frees a decoder, for 30 ms. So the newest frame keeps the decoder on
        the GPU, until it is freed itself.
        """
        held = None
        if self._newest is not None and self._shared is not None:
            with suppress(NotImplementedError):  # of a format that has no array
                held = self._shared.hold(self._newest.planes[0])
        self._decoder = self._newest = None
        if held is not None:
            held.release()
