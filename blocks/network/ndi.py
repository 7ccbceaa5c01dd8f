"""NDI: pictures of other programs on the network, and to them. The library runs on threads of these classes."""

import threading
import time
from fractions import Fraction
from typing import Any

import numpy as np

from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

_MISSING = "NDI must have the library cyndilib, got none; type: pip install 'warploom[network]'"
#: The time between two looks at what the network offers, and at the newest picture of a source, in seconds.
_LOOK_S, _PICTURE_S = 0.25, 0.004
#: How long sources have to answer when they are listed, in seconds.
_ANSWER_S = 1.5


def _library() -> Any:
    """Return the module of the library. Raise PatchError without it."""
    try:
        import cyndilib
    except ImportError:
        raise PatchError(_MISSING) from None
    return cyndilib


def source_names() -> list[str]:
    """Return the names of the sources on the network, after a second in which they answer. Raise PatchError if NDI is
    missing.
    """
    _library()
    from cyndilib.finder import Finder

    with Finder() as finder:
        until_s = time.monotonic() + _ANSWER_S
        while time.monotonic() < until_s:
            finder.wait_for_sources(_LOOK_S)
        return sorted(finder.get_source_names())


class NdiInput:
    """The newest picture of a source whose name has a part `name`; the first source if that is empty.

    Pictures are scaled to `width` and `height` by taking the nearest pixels. The source is looked for until `close`,
    also after it is gone.
    """

    def __init__(self, name: str, width: int, height: int) -> None:
        _library()
        self._name, self._size = name, (height, width)
        #: The newest picture, uint8 RGBA of shape (height, width, 4), and its number from 1.
        self.newest: tuple[Array, int] | None = None
        #: Why there is no picture now; "" while there is one.
        self.notice = "NDI source is looked for"
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warploom-ndi-in", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the source, without waiting."""
        self._closing.set()

    def _run(self) -> None:
        from cyndilib.finder import Finder
        from cyndilib.receiver import Receiver
        from cyndilib.video_frame import VideoFrameSync
        from cyndilib.wrapper.ndi_recv import RecvBandwidth, RecvColorFormat

        try:
            with Finder() as finder:
                while not self._closing.is_set():
                    found = self._find(finder)
                    if found is None:
                        finder.wait_for_sources(_LOOK_S)
                        continue
                    receiver = Receiver(color_format=RecvColorFormat.RGBX_RGBA, bandwidth=RecvBandwidth.highest)
                    frame = VideoFrameSync()
                    receiver.frame_sync.set_video_frame(frame)
                    receiver.set_source(found)
                    self._take(receiver, frame)
        except Exception as problem:  # noqa: BLE001 - whatever the library raises is shown on the block
            self.notice = f"NDI must be there on this machine, got {type(problem).__name__}: {problem}"

    def _find(self, finder: Any) -> Any:
        names = sorted(finder.get_source_names())
        name = next((name for name in names if self._name.lower() in name.lower()), None)
        if name is None:
            wanted = f"called {self._name!r}" if self._name else "on the network"
            self.notice = f"NDI must have a source {wanted}, got {', '.join(names) or 'none'}; it is looked for"
            return None
        return finder.get_source(name)

    def _take(self, receiver: Any, frame: Any) -> None:
        """Take pictures while the source is there."""
        last, was_connected, looks = None, False, 0
        while not self._closing.wait(_PICTURE_S):
            if receiver.is_connected():
                was_connected = True
                receiver.frame_sync.capture_video()
                if frame.xres and (stamp := frame.get_timestamp_posix()) != last:
                    last = stamp
                    self._keep(frame)
            elif was_connected or looks * _PICTURE_S > 5:
                self.notice = "NDI source is gone; it is looked for"
                return
            looks += 1

    def _keep(self, frame: Any) -> None:
        data = np.array(frame, np.uint8).ravel()  # a copy
        picture = picture_of(data, frame.yres, frame.xres)
        if picture is None:
            size = f"{frame.xres} x {frame.yres} pixels"
            self.notice = (
                f"NDI source must send whole RGBA pictures, got {data.size:,} bytes for {size}; it is left out"
            )
            return
        self.newest = np.ascontiguousarray(scaled(picture, *self._size)), 1 + (self.newest[1] if self.newest else 0)
        self.notice = ""


def picture_of(data: Array, height: int, width: int) -> Array | None:
    """Return the picture in bytes whose rows may be longer than it, of shape (height, width, 4); None if it is cut."""
    if height < 1 or width < 1 or data.size % (4 * height) or data.size < 4 * height * width:
        return None
    return data.reshape(height, -1, 4)[:, :width]


def scaled(picture: Array, height: int, width: int) -> Array:
    """Return a picture of another size, made of the nearest pixels."""
    rows, columns = picture.shape[:2]
    if (rows, columns) == (height, width):
        return picture
    nearest: Array = picture[(np.arange(height) * rows // height)[:, np.newaxis], np.arange(width) * columns // width]
    return nearest


class NdiOutput:
    """A source that other programs find by its name. It sends the newest picture; older ones that wait are left out."""

    def __init__(self, name: str, width: int, height: int, rate: int) -> None:
        _library()
        self._name, self._rate = name, rate
        #: The width and height of pictures.
        self.size = width, height
        # NDI needs even sizes.
        self._size = width + width % 2, height + height % 2
        self._waiting: Array | None = None
        self._there = threading.Condition()
        self._is_closing = False
        #: How many pictures were sent.
        self.sent = 0
        #: Why nothing is sent; "" while all is well.
        self.notice = ""
        self._thread = threading.Thread(target=self._run, name="warploom-ndi-out", daemon=True)
        self._thread.start()

    def send(self, picture: Array) -> None:
        """Send a picture, uint8 RGBA of shape (height, width, 4), which is copied."""
        (width, height), (rows, columns, _) = self._size, picture.shape
        if (rows, columns) == (height, width):
            copy = picture.copy()
        else:
            copy = np.pad(picture, ((0, height - rows), (0, width - columns), (0, 0)), mode="edge")
        with self._there:
            self._waiting = copy
            self._there.notify()

    def close(self) -> None:
        """Send what waits, and withdraw the source."""
        with self._there:
            self._is_closing = True
            self._there.notify()

    def join(self, within_s: float) -> None:
        """Wait until the source is withdrawn."""
        self._thread.join(within_s)

    def _run(self) -> None:
        from cyndilib.sender import Sender
        from cyndilib.video_frame import VideoSendFrame
        from cyndilib.wrapper.ndi_structs import FourCC

        try:
            frame = VideoSendFrame()
            frame.set_resolution(*self._size)
            frame.set_frame_rate(Fraction(self._rate))
            frame.set_fourcc(FourCC.RGBA)
            sender = Sender(self._name, clock_video=False)
            sender.set_video_frame(frame)
            with sender:
                while (picture := self._next()) is not None:
                    sender.write_video(picture.reshape(-1))
                    self.sent += 1
        except Exception as problem:  # noqa: BLE001 - whatever the library raises is shown on the block
            self.notice = f"NDI must be there on this machine, got {type(problem).__name__}: {problem}"

    def _next(self) -> Array | None:
        with self._there:
            while self._waiting is None and not self._is_closing:
                self._there.wait()
            picture, self._waiting = self._waiting, None
            return picture
