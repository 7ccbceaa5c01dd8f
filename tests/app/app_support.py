"""Blocks, a fake engine, and reports for the editor's tests."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from warploom.api import Block, BlockBuilder, In, Out, f32, float4, param, port, uchar4
from warploom.engine.device.device import DeviceInfo
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import EditCost, EngineStatistics, FrameReport, UpdateLevel
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import Reduction, Sample, picture_of


class EveryParameter(Block, id="test_app.every_parameter", category="Test"):
    """Has a parameter of every kind."""

    x: In[f32] = port(doc="Values.", optional=True)
    out: Out[f32] = port(shape="[count]", doc="Values.")
    gain: float = param(1.0, min=0, max=10, unit="dB", doc="How much.")
    free: float = param(0.5, doc="Any number.")
    count: int = param(4, min=1, max=64, structural=True, doc="How many.")
    on: bool = param(True, doc="Whether at all.")
    mode: str = param("soft", choices=("soft", "hard"), doc="How.")
    label: str = param("", doc="A text.")
    source: Path = param("", files="open image", doc="A picture.")
    data: np.ndarray = param(np.arange(6, dtype=np.float32), doc="Numbers.")

    def describe(self, build: BlockBuilder) -> None:
        """Clear the output."""
        build.fill(self.out)


class Screen(Block, id="test_app.screen", category="Test"):
    """Shows an image."""

    image: In[float4] = port(rank=2, doc="The image.")

    def describe(self, build: BlockBuilder) -> None:
        """Show a buffer of the image's size."""
        build.show(build.buffer("pixels", uchar4, shape="same(image)"))


class Picture(Block, id="test_app.picture", category="Test"):
    """Makes an image."""

    out: Out[float4] = port(shape="[8, 8]", doc="The image.")

    def describe(self, build: BlockBuilder) -> None:
        """Clear the output to a black image."""
        build.fill(self.out)


class FakeEngine:
    """Takes messages and returns the test's answers, without a thread or a device."""

    silent_s = 0.0
    waits_for = ""
    has_own_process = False
    stuck_in = stuck_file = ""

    def __init__(self, patch: Patch, profiling: ProfilingLevel) -> None:
        self.patch, self.profiling, self.transport = patch, profiling, self
        self.posted: list[Any] = []
        self.reports: list[FrameReport] = []
        self.samples: dict[str, Sample] = {}
        self.profiles: list[Profile] = []
        self.events: list[Any] = []
        self.closed = threading.Event()
        self.info = DeviceInfo("host", "A test's device", "none", 0, 1)

    def start(self, *, pacing: Pacing) -> None:
        """Do nothing, since there is no thread."""
        self.pacing = pacing

    def watch_files(self) -> None:
        """Do nothing, since there are no kernels."""

    def post(self, message: Any) -> None:
        self.posted.append(message)

    def copy_state(self, most_bytes: int) -> None:
        """Do nothing: the test adds the copy to the events."""

    def cost_of(self, asked: Any, *, within_s: float | None = None) -> EditCost:
        """Return the cost of a rebuild for every edit."""
        return EditCost(UpdateLevel.COLD, "a test", 3_100_000)

    def take_report(self) -> FrameReport | None:
        return self.reports.pop() if self.reports else None

    def take_profile(self) -> Profile | None:
        return self.profiles.pop() if self.profiles else None

    def take_sample(self, name: str) -> Sample | None:
        return self.samples.pop(name, None)

    def take_events(self) -> list[Any]:
        taken, self.events = self.events, []
        return taken

    def close(self) -> None:
        self.closed.set()


def shown_picture(
    node: str,
    frame: int,
    pixels: np.ndarray,
    whole: tuple[int, int] | None = None,
    probe: tuple[int, int] | None = None,
    probed: tuple[int, int, int, int] | None = None,
) -> Sample:
    """Return the picture of a viewer, with the value of the pixel in a row and column."""
    height, width = whole or pixels.shape[:2]
    part, value = ((0, height), (0, width)), None if probed is None else np.array(probed, np.uint8)
    wanted = picture_of(node, rate=30.0, probe=probe)
    return Sample(f"viewers/{node}", wanted, frame, "uchar4", (height, width), part, pixels, value)


def is_picture(sample: Sample) -> bool:
    """Return whether a sample is the picture of a viewer."""
    return sample.sampling.reduction is Reduction.PICTURE


def make_report(**fields: Any) -> FrameReport:
    """Return a report of a running engine, with the given fields replaced."""
    plain: dict[str, Any] = {
        "frame": 1,
        "update_level": UpdateLevel.NONE,
        "frame_time_ns": 420_000,
        "nodes": {},
        "buffers": {},
        "statistics": EngineStatistics("host", blocks=3, kernels=5, pool_used_bytes=2**20, pool_allocated_bytes=2**21),
        "running": True,
    }
    return FrameReport(**{**plain, **fields})


def move_pointer(
    widget: QWidget,
    point: QPoint,
    buttons: Qt.MouseButton = Qt.MouseButton.NoButton,
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Send a widget a pointer move, which QTest omits if the pointer is already at that place."""
    kind = QEvent.Type.MouseMove
    place, there, none = QPointF(point), QPointF(widget.mapToGlobal(point)), Qt.MouseButton.NoButton
    QApplication.sendEvent(widget, QMouseEvent(kind, place, there, none, buttons, modifiers))


def press(window: Any, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key while the canvas of a window has the keyboard."""
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas.view, key, modifiers)


def run_command(window: Any, text: str) -> None:
    """Find a command in the palette by its name, and run it."""
    press(window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(window.chooser.field, text)
    QTest.keyClick(window.chooser.field, Qt.Key.Key_Return)
    assert not window.chooser.isVisible(), f"{text} is not possible: {window.chooser.texts()}"


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours "#rrggbb", 1 to 21 (WCAG 2.2, "contrast ratio")."""
    bright, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
