"""Graphs as data for programs that need no Warploom: replayed on the host, they compute what an engine computes."""

import ast
import base64
import json
import re
import sys
import zlib

import numpy as np
import pytest

from tests.export.replaying import Replay
from tests.small_examples import small
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, In, Out, any_type, port
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.standalone import exported_graph, standalone_script
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch

FRAMES = 3


def moved_sum() -> Patch:
    """A patch whose state turns in place, with a delay, a fused chain and values of several types."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(33, dtype=np.float32))
    delay, add = patch.add("buffer.frame_delay"), patch.add("math.saxpy", a=0.5)
    patch.connect(array["out"], add["x"])
    patch.connect(delay["out"], add["y"])
    patch.connect(add["out"], delay["x"])
    patch.connect(add["out"], patch.add("math.saxpy", node_id="last")["x"])
    patch.connect(array["out"], patch["last"]["y"])
    return patch


@pytest.mark.parametrize("name", ["particles", "moved_sum"])
def test_data_replayed_on_the_host_gives_the_frames_of_an_engine(name: str) -> None:
    """Every output has the same bits as in an engine after some frames, with a parameter set before the last one."""
    patch = moved_sum() if name == "moved_sum" else small(name)
    graph = exported_graph(patch)
    assert graph.outputs and all(made.kind for made in graph.operations)
    device = open_device("host")
    try:
        replay = Replay(graph, device)
        setting = min(name for name, made in graph.parameters.items() if made.places[0][3] == "f")
        node, _, parameter = setting.partition(".")
        with Engine(patch, device) as engine:
            for frame in range(FRAMES):
                if frame == FRAMES - 1:
                    patch.set(node, **{parameter: 0.25})
                    replay.set(setting, 0.25)
                engine.step()
                replay.step()
            for output in graph.outputs:
                expected = engine.read(PortRef(output.node, output.port))
                assert replay.read(output) == expected.tobytes(), output
        replay.close()
    finally:
        device.close()


def test_the_program_has_the_data_and_imports_nothing_of_warploom() -> None:
    """The text is Python, its data is that of the graph, and it imports numpy, cuda and the standard library alone."""
    graph = exported_graph(moved_sum())
    text = standalone_script(graph)
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {name.partition(".")[0] for node in imports for name in _names(node)}
    assert roots - sys.stdlib_module_names == {"numpy", "cuda"}
    found = re.search(r'^DATA = r"(.*)"$', text, re.MULTILINE)
    assert found is not None
    data = json.loads(zlib.decompress(base64.b85decode(found[1])))
    assert [made["entry"] for made in data["operations"]] == [made.entry for made in graph.operations]
    assert data["parameters"].keys() == graph.parameters.keys()


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ocean", "waves calls a library (fft)"),
        ("glitch", "film runs Python in each frame"),
        ("journey", "dunes.above has keys"),
        ("whirl", "whirl.twist follows lfo.value"),
    ],
)
def test_what_needs_warploom_is_named(name: str, message: str) -> None:
    """A library call, a live source, keys and a value that drives a parameter are refused by name."""
    with pytest.raises(PatchError, match=re.escape(message)):
        exported_graph(load_patch(EXAMPLES_FOLDER / f"{name}.loom"))


def test_a_patch_with_errors_is_refused() -> None:
    """A patch that would not compile is refused with the reason, and so is an empty one."""
    patch = Patch()
    with pytest.raises(PatchError, match="patch must have a block"):
        exported_graph(patch)
    patch.add("math.saxpy")
    with pytest.raises(PatchError, match="saxpy"):
        exported_graph(patch)


class Filled(Block, id="test_standalone.filled", version=1):
    """Fills by numbers of four bytes."""

    x: In[any_type] = port(doc="Numbers.")
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="Ones, as f32.")

    def describe(self, build: BlockBuilder) -> None:
        """Fill."""
        build.fill(self.out, 0x3F800000, width=4)


def test_fills_of_numbers_are_exported() -> None:
    """A block's fill by numbers of four bytes is in the data; a buffer of half a number is an error of the block."""
    patch = Patch()
    array, fill = patch.add("io.array", data=np.zeros(33, np.float32)), patch.add(Filled.id)
    patch.connect(array["out"], fill["x"])
    graph = exported_graph(patch)
    device = open_device("host")
    replay = Replay(graph, device)
    replay.step()
    found = next(replay.read(output) for output in graph.outputs if output.node == fill.id)
    replay.close()
    device.close()
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(fill["out"]).tobytes() == found == np.ones(33, np.float32).tobytes()
        patch.set(array, data=np.zeros(7, np.uint8))
        (problem,) = engine.step().diagnostics
        assert problem.message == "fill of 4-byte numbers needs a buffer of whole ones, got 7 bytes"
