"""The command line, and a patch to run."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.app.cli.cli_support import Outcome, Warploom
from warploom import Patch
from warploom.app.cli.command_line import main
from warploom.engine.patch.files import save_patch


@pytest.fixture
def warploom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Warploom:
    """Runs `warploom` with the given arguments in this process."""

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["warploom", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Outcome(int(end.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def saxpy_file(tmp_path: Path) -> Path:
    """A patch that computes 3 x + y over 0..999 and ones."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=np.arange(1000, dtype=np.float32))
    y = patch.add("io.array", node_id="y", data=np.ones(1000, np.float32))
    saxpy = patch.add("math.saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    path = tmp_path / "saxpy.loom"
    save_patch(patch, path)
    return path
