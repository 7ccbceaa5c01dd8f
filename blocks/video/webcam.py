import sys
from collections.abc import Mapping

from warploom.api import BlockBuilder, LiveBlock, Moment, Out, Value, float4, param, port, value_port
from warploom.blocks.io.pixels import pixels_param
from warploom.blocks.video.films.film_source import load_av
from warploom.blocks.video.films.frame_layout import FrameLayout
from warploom.blocks.video.frame_feed import PACKED, describe_frames
from warploom.blocks.video.live_reader import LiveReader
from warploom.engine.diagnostics import PatchError
from warploom.engine.platforms.machine import camera_names, camera_path

#: The library's names for the cameras of each system.
_FORMS = {"linux": "v4l2", "darwin": "avfoundation", "win32": "dshow"}


class Webcam(LiveBlock, id="io.webcam", tags=("camera", "video", "capture", "live", "usb", "v4l2")):
    """Shows a camera's newest frame as linear RGBA.

    The camera is the one with a number, counted from 0, or a part of its name. Frames are scaled to `width` and
    `height` if the camera has no such size. They are taken on another thread, so a slow camera doesn't slow the patch
    down. A camera that is missing, busy or unplugged is tried again every second. Load Video shows cameras of the
    network.
    """

    out: Out[float4] = port(dtype="given", shape="[1, 1]", rank=2, doc="The frame, linear RGBA, shape [height, width].")
    is_new: Value[bool] = value_port(doc="True in frames that show another picture than before.")
    device: str = param(
        "0", offers=True, doc="Number of the camera from 0, a part of its name, or a device such as /dev/video2."
    )
    width: int = param(1280, min=16, max=8192, structural=True, unit="pixels", doc="Width of the picture.")
    height: int = param(720, min=16, max=8192, structural=True, unit="pixels", doc="Height of the picture.")
    rate: float = param(30.0, min=1, max=240, structural=True, unit="1/s", doc="Frames a second to ask for.")
    pixels: str = pixels_param()

    def source(self) -> str:
        """Return the camera, which not every patch may use."""
        return f"camera:{self.device}"

    def describe(self, build: BlockBuilder) -> None:
        """Allocate a frame's bytes, and launch one thread per pixel."""
        load_av()
        describe_frames(build, self.out, self._layout, self.pixels)

    @property
    def _layout(self) -> FrameLayout:
        return FrameLayout(self.width, self.height, halved_x=1, halved_y=1, matrix=6)

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the cameras that are there."""
        return cameras()

    def start(self) -> None:
        """Open the camera, on a thread of its own."""
        self._shown = 0
        self._reader = None if self.is_replay else open_camera(self.device, self._layout, self.rate)

    def goes_on(self) -> bool:
        """Keep the camera open."""
        self._shown = 0
        return True

    def update(self, now: Moment) -> None:
        """Give the newest frame, if it is another one."""
        self.is_new = False
        if self._reader is None:
            return
        try:
            newest = self._reader.newest(self.waits)
        except PatchError as problem:
            self.notice = f"{problem}; it is tried again"
            return
        self.notice = "" if newest is not None else f"camera {self.device} has sent nothing yet"
        if newest is not None and newest[1] != self._shown:
            self.give(PACKED, newest[0])
            self._shown, self.is_new = newest[1], True

    def close(self) -> None:
        """Leave the camera."""
        if self._reader is not None:
            self._reader.close()


def cameras() -> dict[str, str]:
    """Return the cameras that are there now, with their titles; none where the system has no list of them."""
    form = _FORMS.get(sys.platform, "v4l2")
    if form == "v4l2":
        return {path: f"{name} ({path})" for path, name in camera_names().items()}
    found = [each.name for each in load_av().enumerate_input_devices(form) if "video" in each.media_types]
    return {name: name for name in found}


def open_camera(device: str, layout: FrameLayout, rate: float) -> LiveReader:
    """Return a reader of a camera. A device "lavfi:GRAPH" is a picture that FFmpeg makes, to test without a camera."""
    if device.startswith("lavfi:"):
        return LiveReader(device.removeprefix("lavfi:"), layout, "lavfi")
    form = _FORMS.get(sys.platform, "v4l2")
    options = {"video_size": f"{layout.columns}x{layout.rows}", "framerate": f"{rate:g}"}
    return LiveReader(_name_of(device, form), layout, form, options)


def _name_of(device: str, form: str) -> str:
    """Return a camera's name for FFmpeg."""
    if form == "v4l2":
        if device.isdecimal():
            return camera_path(device)
        if device.startswith("/"):
            return device
        return next((path for path, name in camera_names().items() if device.lower() in name.lower()), device)
    if form == "dshow":
        found = [each.name for each in load_av().enumerate_input_devices("dshow") if "video" in each.media_types]
        named = [name for name in found if device.lower() in name.lower()]
        if device.isdecimal() and int(device) < len(found):
            named = [found[int(device)]]
        return f"video={named[0] if named else device}"
    return device
