"""Two versions of a block's code on the same input."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.window.window_support import engine_of
from tests.fuzzing import many, seeds
from warploom.app.docks.code import trials
from warploom.app.docks.code.code import Code
from warploom.app.view_models.code.trial import Outcome, Trial, compared, difference_of, run_trial
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch

KERNEL = """extern "C" __global__ void tint(const float4* image, float4* out, float amount, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float4 pixel = image[y * width + x];
    pixel.x *= amount;
    out[y * width + x] = pixel;
}
"""


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_a_block_runs_with_another_text(tmp_path: Path) -> None:
    """A trial gives the outputs and the time of a kernel file's other text, and leaves the file as it is."""
    (tmp_path / "tint.cu").write_text(KERNEL)
    image = np.random.default_rng(1).random((6, 5, 4), np.float32)
    trial = Trial("kernel.file", {"amount": 2.0}, {"image": ("float4", image)}, ("out",), "host", tmp_path / "tint.cu")
    found = run_trial(trial, KERNEL.replace("*= amount", "+= amount"))
    assert not found.problem and found.time_ns is not None and found.time_ns > 0
    np.testing.assert_array_equal(found.outputs["out"], image + np.array([2, 0, 0, 0], np.float32))
    assert (tmp_path / "tint.cu").read_text() == KERNEL


@pytest.mark.parametrize("seed", seeds(2))
def test_differences_are_those_of_numpy(seed: int) -> None:
    """Differences count and place what numpy finds; a NaN equals a NaN, and nothing else."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(many(20)):
        kind = draw.choice([np.float32, np.uint8, np.int64, np.complex64])
        a = numbers.integers(0, 3, size=(draw.randrange(1, 5), draw.randrange(1, 5))).astype(kind)
        b = a.copy() if draw.random() < 0.3 else numbers.integers(0, 3, size=a.shape).astype(kind)
        if kind is np.float32 and draw.random() < 0.5:
            a[0, 0], b[-1, -1] = np.nan, np.nan
        (found,) = compared({"out": a}, {"out": b})
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        assert (found.different, found.total) == (np.count_nonzero(~same), a.size)
        assert found.largest == difference_of(a, b).max() and (difference_of(a, b)[found.place] == found.largest)
    assert "shape [1] before, none now" in str(compared({"out": np.ones(1)}, {})[0])


@pytest.fixture
def opened(window: MainWindow, tmp_path: Path) -> MainWindow:
    """A window in which the code of a kernel file is shown."""
    (tmp_path / "tint.cu").write_text(KERNEL)
    patch = Patch()
    patch.add("test_app.picture", node_id="picture")
    patch.add("kernel.file", node_id="tint", file=str(tmp_path / "tint.cu"), amount=3.0)
    patch.connect(PortRef("picture", "out"), PortRef("tint", "image"))
    save_patch(patch, tmp_path / "demo.loom")
    assert window.files.open_path(tmp_path / "demo.loom")
    window.activateWindow()
    window.canvas.select(["tint"])
    window.actions_by_id["open_code"].trigger()
    return window


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.feature("trial")
def test_one_of_two_versions_is_kept(
    opened: MainWindow, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    """A/B shows both versions' times and their difference; the person keeps the new code or goes back."""
    tried: list[Any] = []

    def run(trial: Trial, text: str) -> Outcome:
        tried.append((trial, text))
        return Outcome({"out": np.full((4, 4, 4), len(tried), np.float32)}, 2_000_000 // len(tried))

    monkeypatch.setattr(trials, "run_trial", run)
    picture = np.ones((8, 8, 4), np.float32)
    monkeypatch.setattr(engine_of(opened), "read", lambda port: picture, raising=False)
    dock = opened.docks.widget(Code)
    QTest.mouseClick(dock.bar.trial, Qt.MouseButton.LeftButton)
    assert "Change the code first" in opened.log.lines[-1].record.text and dock.trial.isHidden()
    dock.text.selectAll()
    dock.text.insertPlainText(KERNEL.replace("*= amount", "+= amount"))
    QTest.mouseClick(dock.bar.trial, Qt.MouseButton.LeftButton)
    assert dock.trial.isVisible() and not dock.trial.keep.isEnabled()
    qtbot.waitUntil(lambda: not dock.trials.is_running)
    assert [text for _, text in tried] == [KERNEL, KERNEL.replace("*= amount", "+= amount")]
    assert tried[0][0].values["amount"] == 3.0 and tried[0][0].inputs["image"] == ("float4", picture)
    assert dock.trial.times.text() == "Before 2.00 ms · now 1.00 ms (-50%)"
    assert dock.trial.text.text() == "out: 64 of 64 numbers differ, most by 1 at [0, 0, 0]"
    QTest.mouseClick(dock.trial.keep if keeps else dock.trial.back, Qt.MouseButton.LeftButton)
    assert dock.trial.isHidden() and not opened.isWindowModified()
    assert ("+= amount" in (tmp_path / "tint.cu").read_text()) is keeps
