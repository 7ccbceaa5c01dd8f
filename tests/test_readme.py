"""The README is true: its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|c\+\+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
PYTHON = [code for kind, code in BLOCKS if kind == "python"]


@pytest.mark.parametrize(
    "code", [code for code in PYTHON if "class Square" not in code], ids=["patch", "region", "external", "device"]
)
def test_the_examples_hold(code: str) -> None:
    """Each example asserts what it claims."""
    exec(compile(code, "README.md", "exec"), {})


def test_the_first_block_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class and its kernel, as printed, square numbers."""
    import importlib

    import numpy as np

    from engine import Engine, Patch

    (block,) = [code for code in PYTHON if "class Square" in code]
    (kernel,) = [code for kind, code in BLOCKS if kind == "c++"]
    (tmp_path / "readme_square.py").write_text(block)
    (tmp_path / "square.cu").write_text(kernel)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("readme_square")
    patch = Patch()
    x = patch.add("io.array", data=np.arange(300, dtype=np.float32))
    square = patch.add("math.square", gain=2.0)
    patch.connect(x["out"], square["x"])
    with Engine(patch, device="host") as engine:
        assert np.array_equal(engine.read(square["out"]), 2 * np.arange(300, dtype=np.float32) ** 2)


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:resources|kernels|blocks|app|engine|tests)/[\w/.]*)`", (ROOT / "README.md").read_text())
)
def test_every_path_it_names_exists(path: str) -> None:
    """Except the one it asks the reader to make."""
    assert (ROOT / path).exists() or path == "blocks/math/square.py"
