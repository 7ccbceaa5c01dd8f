"""The block that the README tells how to write."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from engine import Engine, Patch

README = Path(__file__).parents[2] / "blocks" / "README.md"


def test_the_block_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its two files, as they are printed there, make a block that thresholds."""
    text = README.read_text("utf-8")
    for language, name in (("cuda", "threshold.cu"), ("python", "threshold.py")):
        match = re.search(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        assert match
        (tmp_path / name).write_text(textwrap.dedent(match[1]))
    spec = importlib.util.spec_from_file_location("threshold", tmp_path / "threshold.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "threshold", module)
    spec.loader.exec_module(module)
    x = np.linspace(0, 1, 999, dtype=np.float32)
    patch = Patch()
    node = patch.add("math.threshold", level=0.25)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(node["out"]), (x >= 0.25).astype(np.float32))
