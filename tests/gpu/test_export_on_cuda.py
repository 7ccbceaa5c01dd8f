"""Programs that `warploom export --standalone` and `--cpp` write compute the same bits on a GPU as an engine."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.export.test_cpp_folder import build
from tests.export.test_standalone import moved_sum
from tests.small_examples import small
from warploom import Engine, Patch, load_patch
from warploom.engine.device.device import Device
from warploom.engine.export.standalone import exported_graph, standalone_script
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import EXAMPLES_FOLDER

pytestmark = pytest.mark.gpu
FRAMES = 4


def _patch(name: str) -> Patch:
    if name == "moved_sum":
        return moved_sum()
    return small(name) if name in ("particles", "jacobi", "nested") else load_patch(EXAMPLES_FOLDER / f"{name}.loom")


@pytest.mark.parametrize("name", ["moved_sum", "particles", "galaxy", "feedback", "life", "jacobi", "nested"])
@pytest.mark.parametrize("kind", ["standalone", "cpp"])
def test_a_program_computes_what_an_engine_does(name: str, kind: str, cuda: Device, tmp_path: Path) -> None:
    """Every output has the same bits after some frames, with a live parameter that was set before the first one."""
    patch = _patch(name)
    graph = exported_graph(patch, cuda.info.architecture)
    out = tmp_path / "out"
    out.mkdir()
    if kind == "cpp":
        program: list[str | Path] = [build(graph, tmp_path / "cpp"), tmp_path / "cpp"]
    else:
        program = [sys.executable, "-I", tmp_path / "program.py"]
        (tmp_path / "program.py").write_text(standalone_script(graph))
    setting = min(each for each, made in graph.parameters.items() if made.places[0][3] == "f")
    node, _, parameter = setting.partition(".")
    value = patch.value(node, parameter) * 0.75
    patch.set(node, **{parameter: value})
    words = ["--frames", str(FRAMES), "--set", f"{setting}={value!r}", "--out", str(out)]
    found = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    with Engine(patch, cuda) as engine:
        for _ in range(FRAMES):
            engine.step()
        for output in graph.outputs:
            expected = engine.read(PortRef(output.node, output.port))
            made = np.load(out / f"{output.node}.{output.port}.npy".replace("/", "."))
            assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
            assert made.tobytes() == expected.tobytes(), output


def test_a_program_refuses_what_is_not_there(cuda: Device, tmp_path: Path) -> None:
    """An unknown parameter ends the program with one message that lists the parameters."""
    script = tmp_path / "program.py"
    script.write_text(standalone_script(exported_graph(moved_sum(), cuda.info.architecture)))
    found = subprocess.run([sys.executable, "-I", script, "--set", "no=1"], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("error: parameter must be one of ") and found.stderr.count("\n") == 1
