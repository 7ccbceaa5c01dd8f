import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.api import BlockBuilder, LiveBlock, Moment, Out, Value, float4, param, port, value_port
from warploom.blocks.io.pixels import pixels_param
from warploom.blocks.video.films.film_source import load_av
from warploom.blocks.video.films.frame_layout import FrameLayout, filled_frame
from warploom.blocks.video.frame_feed import PACKED, describe_frames
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]


class Screen(LiveBlock, id="io.screen", tags=("desktop", "monitor", "capture", "grab", "window", "live")):
    """Shows a part of the screen as linear RGBA.

    The part begins at `left` and `top` of a monitor. The screen is captured on another thread, up to `rate` times a
    second.
    """

    out: Out[float4] = port(
        dtype="given", shape="[1, 1]", rank=2, doc="The picture, linear RGBA, shape [height, width]."
    )
    is_new: Value[bool] = value_port(doc="True in frames that show another picture than before.")
    monitor: int = param(
        1, min=0, max=16, structural=True, offers=True, doc="Number of the monitor from 1; 0 is all of them."
    )
    left: int = param(0, min=0, max=32768, structural=True, unit="pixels", doc="Left edge of the part.")
    top: int = param(0, min=0, max=32768, structural=True, unit="pixels", doc="Top edge of the part.")
    width: int = param(1280, min=1, max=16384, structural=True, unit="pixels", doc="Width of the part.")
    height: int = param(720, min=1, max=16384, structural=True, unit="pixels", doc="Height of the part.")
    rate: float = param(60.0, min=0.1, max=240, structural=True, unit="1/s", doc="Most pictures a second.")
    pixels: str = pixels_param()

    def source(self) -> str:
        """Return the monitor, which not every patch may see."""
        return f"screen:{self.monitor}"

    def describe(self, build: BlockBuilder) -> None:
        """Allocate a picture's bytes, and launch one thread per pixel."""
        load_av()
        describe_frames(build, self.out, _layout(self.width, self.height), self.pixels)

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the monitors, with their sizes and places."""
        with _open_screen() as screen:
            monitors = list(screen.monitors)
        places = [f"{each['width']} x {each['height']} at {each['left']}, {each['top']}" for each in monitors]
        return {str(number): f"{number or 'All'}: {place}" for number, place in enumerate(places)}

    def start(self) -> None:
        """Begin to capture, on a thread of its own."""
        self._shown = 0
        self._reader = None if self.is_replay else self._open()

    def _open(self) -> "ScreenReader":
        return ScreenReader(self.monitor, self.left, self.top, self.width, self.height, self.rate)

    def goes_on(self) -> bool:
        """Go on to capture."""
        self._shown = 0
        return True

    def update(self, now: Moment) -> None:
        """Give the newest picture, if it is another one."""
        self.is_new = False
        newest = self._reader.newest(self.waits) if self._reader is not None else None
        if newest is not None and newest[1] != self._shown:
            self.give(PACKED, newest[0])
            self._shown, self.is_new = newest[1], True

    def close(self) -> None:
        """Leave the screen."""
        if self._reader is not None:
            self._reader.close()


def _region(screen: Any, monitor: int, left: int, top: int, width: int, height: int) -> dict[str, int]:
    """Return a part of the screen as the library wants it. Raise PatchError if it isn't on the monitor."""
    if monitor >= len(screen.monitors):
        raise PatchError(f"monitor must be at most {len(screen.monitors) - 1}, got {monitor}")
    whole = screen.monitors[monitor]
    if width > whole["width"] - left or height > whole["height"] - top:
        size = f"{whole['width']} x {whole['height']} pixels"
        raise PatchError(f"part must lie on the monitor of {size}, got {width} x {height} at {left}, {top}")
    return {"left": whole["left"] + left, "top": whole["top"] + top, "width": width, "height": height}


def _open_screen() -> Any:
    try:
        import mss
    except ImportError as problem:
        text = f"the screen must have the library mss, got none ({problem}); type: pip install 'warploom[media]'"
        raise PatchError(text) from None
    try:
        return mss.MSS()
    except Exception as problem:
        raise PatchError(f"screen must be there, got none: {problem}") from problem


def _layout(width: int, height: int) -> FrameLayout:
    return FrameLayout(width, height, 0, "gbrp", is_rgb=True, is_full_range=True)


class ScreenReader:
    """Captures a part of the screen on its own thread, up to `rate` times a second."""

    def __init__(self, monitor: int, left: int, top: int, width: int, height: int, rate: float) -> None:
        self._part, self._period_s = (monitor, left, top, width, height), 1 / rate
        self._lock = threading.Condition()
        self._closing = threading.Event()
        self._newest: tuple[Array, int] | None = None
        self._problem: PatchError | None = None
        threading.Thread(target=self._run, name="warploom-screen", daemon=True).start()

    def newest(self, wait: bool = False) -> tuple[Array, int] | None:
        """Return the newest picture's bytes and its number; None if there is none. With `wait`, wait for the first."""
        with self._lock:
            while wait and self._newest is None and self._problem is None and not self._closing.is_set():
                self._lock.wait()
            if self._problem is not None:
                raise self._problem
            return self._newest

    def close(self) -> None:
        """Have the thread end; don't wait for it."""
        self._closing.set()

    def _run(self) -> None:
        layout, number = _layout(*self._part[3:]), 0
        try:
            load_av()
            with _open_screen() as screen:
                region = _region(screen, *self._part)
                while not self._closing.is_set():
                    begun_s = time.monotonic()
                    shot = np.ascontiguousarray(screen.grab(region))
                    packed = layout.pack(filled_frame("bgra", shot.shape[1], shot.reshape(len(shot), -1)))
                    number += 1
                    with self._lock:
                        self._newest = packed, number
                        self._lock.notify_all()
                    self._closing.wait(max(0.0, self._period_s - (time.monotonic() - begun_s)))
        except Exception as problem:  # noqa: BLE001 - whatever the library raises is shown on the block
            if not isinstance(problem, PatchError):
                problem = PatchError(f"screen must be there, got: {problem}")
            with self._lock:
                self._problem = problem
                self._lock.notify_all()
