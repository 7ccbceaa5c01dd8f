"""The READMEs' examples run."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tensor_runtime.training.networks import positions
from warploom.engine.tensor_ir import networks
from warploom.engine.tensor_ir.networks import builder, instructions, losses, network, optimisers, schedules
from warploom.engine.tensor_runtime import training


def examples(package: Any) -> list[str]:
    """Return the Python code in a room's README."""
    text = (Path(package.__file__).parent / "README.md").read_text()
    found: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return found


def test_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's example of training runs on the host, and writes its file."""
    monkeypatch.chdir(tmp_path)
    given = positions(64)
    (code,) = examples(training)
    exec(compile(code, "README.md", "exec"), {"rows": given["inputs"], "scores": np.round(given["targets"])})
    assert (tmp_path / "network.safetensors").exists()


def test_networks(capsys: pytest.CaptureFixture[str]) -> None:
    """The example makes a network and an optimiser."""
    names = {"losses": losses}
    for module in (builder, instructions, network, optimisers, schedules):
        names |= vars(module)
    for code in examples(networks):
        exec(compile(code, "README.md", "exec"), names)
    assert "LogSoftmax" in capsys.readouterr().out
    assert issubclass(names["SignSGD"], optimisers.Optimiser)
