"""The block that the README shows how to write."""

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.protocol.messages import Reset

README = Path(__file__).parents[2] / "blocks" / "README.md"


def printed(text: str, language: str, part: str) -> str:
    """Return the README's code block in a language that contains `part`."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return next(textwrap.dedent(code) for code in found if part in code)


def load(path: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a module with ids of its own and run it; the README's samples may already be in `blocks/`."""
    path.write_text(code.replace('id="sample.', 'id="readme.'))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)


def test_the_value_block_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 240 beats a minute and 60 frames a second the block ticks in every 15th frame, and again after a reset."""
    load(tmp_path / "metronome.py", printed(README.read_text("utf-8"), "python", "class Metronome"), monkeypatch)
    patch = Patch()
    node = patch.add("readme.metronome", tempo=240.001)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            reports = [engine.step().values for _ in range(61)]
            ticks = [frame for frame, values in enumerate(reports) if values[str(node["tick"])]]
            assert ticks == [15, 30, 45, 60] and reports[-1][str(node["beats"])] == 4
            engine.post(Reset())


def test_the_live_block_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block shows the first number of the frames before, and again from the start after a reset."""
    load(tmp_path / "history.py", printed(README.read_text("utf-8"), "python", "class History"), monkeypatch)
    patch = Patch()
    node = patch.add("readme.history", length=4)
    number = patch.add("math.scale_offset", scale=0.0, offset=0.0)
    patch.connect(patch.add("io.array", data=np.ones(3, np.float32))["out"], number["x"])
    patch.connect(patch.add("value.time")["frame"], number["offset"])
    patch.connect(number["out"], node["x"])
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            for _ in range(6):
                report = engine.step()
            assert not report.diagnostics
            np.testing.assert_array_equal(engine.read(node["out"]), [1, 2, 3, 4])
            assert report.values[str(node["age"])] == 1
            engine.post(Reset())


def test_the_block_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block's two files from the README threshold an array."""
    text = README.read_text("utf-8")
    (tmp_path / "threshold.cu").write_text(printed(text, "cuda", "threshold"))
    load(tmp_path / "threshold.py", printed(text, "python", "class Threshold"), monkeypatch)
    x = np.linspace(0, 1, 999, dtype=np.float32)
    patch = Patch()
    node = patch.add("readme.threshold", level=0.25)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(node["out"]), (x >= 0.25).astype(np.float32))
