"""Vectors as parameters: each component is a number of the patch, and the kernel takes all of them as one argument."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from pythonosc.udp_client import SimpleUDPClient

from tests.export.test_python_script import built, require_same
from tests.export.test_standalone import Replay
from tests.values.test_osc_control import HOST, free_port
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel, load_patch
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float2, float3, int3, param, port
from warploom.app.cli.headless import apply_settings
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.device.device import HOST_ARCHITECTURE, Device
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.standalone import exported_graph
from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaText
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.files import save_patch
from warploom.engine.patch.organise.osc import Osc
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.sweeps.axes import grid_axis

CODE = """#include <cuda_fp16.h>
// Writes the components of vectors.
extern "C" __global__ void list(
    float* out,
    const float* x,
    char flag,
    float2 a,           // [-10, 10] = (0.5, -1) m, a place
    const float3 b,     // a direction
    float4 c,           // = 0.25, a colour
    int3 d,             // [0, 100] = (1, 2, 3), a count
    uchar4 e,
    short2 f,
    double2 g,
    __half2 h,
    longlong2 i)
{
    if (blockIdx.x || threadIdx.x) return;
    const double found[] = {flag, a.x, a.y, b.x, b.y, b.z, c.x, c.y, c.z, c.w, d.x, d.y, d.z, e.x, e.y, e.z, e.w,
                            f.x, f.y, g.x, g.y, __low2float(h), __high2float(h), i.x, i.y};
    for (int k = 0; k < 25; ++k) out[k] = found[k] + x[0];
}
"""
VALUES = {
    "a": (2.5, -3),
    "b": (1, -2, 0.125),
    "c": (0.5, 0.75, 1, 2),
    "d": (7, 0, 100),
    "e": (255, 1, 0, 9),
    "f": (-32768, 32767),
    "g": (1e-3, -7.5),
    "h": (0.1, 65504),
    "i": (-(2**20), 2**20),
}
DEFAULTS = [0, 0.5, -1, 1, 1, 1, *[0.25] * 4, 1, 2, 3, *[0] * 6, 1, 1, 1, 1, 0, 0]


def expected(values: dict[str, tuple[float, ...]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the components as the kernel writes them; a half is rounded by `struct`."""
    rounded = values | {"h": struct.unpack("<2e", struct.pack("<2e", *values["h"]))}
    return np.array([0, *(number for vector in rounded.values() for number in vector)], np.float32)


def placed(patch: Patch, **values: object) -> NodeRef:
    """Add the kernel, with an array of 25 numbers at its input."""
    node = patch.add("kernel.cuda", code=CODE, **values)
    patch.connect(patch.add("io.array", data=np.zeros(25, np.float32))["out"], node["x"])
    return node


def test_every_vector_of_a_kernel_is_live(device: Device) -> None:
    """Vectors of every size reach the kernel at their own alignment; whole ones and components are HOT."""
    patch = Patch()
    node = placed(patch)
    with Engine(patch, device=device) as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.array(DEFAULTS, np.float32))
        patch.set(node, **VALUES)
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (UpdateLevel.HOT, ())
        np.testing.assert_array_equal(engine.read(node["out"]), expected(VALUES))
        patch.set(node, b_y=5.0, f_x=-1)
        assert engine.step().update_level is UpdateLevel.HOT
        changed = expected(VALUES | {"b": (1, 5, 0.125), "f": (-1, 32767)})
        np.testing.assert_array_equal(engine.read(node["out"]), changed)
        patch.undo()
        patch.undo()
        assert patch.nodes[node.id].parameters.keys() == {"code"}
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.array(DEFAULTS, np.float32))


def test_values_drive_components(device: Device) -> None:
    """A value drives one component, as it does a number; so does a number that the device computes."""
    patch = Patch()
    node = placed(patch, b=(1, 2, 3))
    value, number = patch.add("value.slider", setting=0.5), patch.add("value.from_buffer")
    patch.connect(value["value"], node["b_z"])
    patch.connect(patch.add("io.array", data=np.full(1, 4, np.float32))["out"], number["x"])
    patch.connect(number["value"], node["a_x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        engine.step()
        assert engine.read(node["out"])[1:6].tolist() == [4, -1, 1, 2, 0.5]
        patch.set(value, setting=0.75)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(node["out"])[5] == 0.75


def test_files_scripts_and_exports_keep_vectors(tmp_path: Path) -> None:
    """A patch's file, its Python script and its graph as data have the components."""
    patch = Patch()
    placed(patch, **VALUES)
    save_patch(patch, tmp_path / "vectors.loom")
    require_same(patch, load_patch(tmp_path / "vectors.loom"))
    require_same(patch, built(patch, tmp_path))
    graph = exported_graph(patch)
    ((_, _, *form),) = graph.parameters["cuda.b_y"].places
    assert form == [4, "f"]
    device = open_device("host")
    replay = Replay(graph, device)
    replay.set("cuda.b_y", -6.0)
    replay.step()
    found = replay.read(next(item for item in graph.outputs if item.node == "cuda"))
    replay.close()
    device.close()
    np.testing.assert_array_equal(np.frombuffer(found, np.float32), expected(VALUES | {"b": (1, -6, 0.125)}))


def test_settings_messages_and_sweeps_take_vectors() -> None:
    """`--set` and OSC set a whole vector or a component; a sweep varies a component."""
    patch, osc_port = Patch(), free_port()
    node = placed(patch)
    apply_settings(patch, ["cuda.b=1, 2,-3.5", "cuda.d_z=9"])
    assert [patch.value(node, name) for name in ("b_x", "b_y", "b_z", "d_z")] == [1, 2, -3.5, 9]
    with pytest.raises(Exception, match="parameter b must be 3 numbers with commas between, got '1,2'"):
        apply_settings(patch, ["cuda.b=1,2"])
    assert grid_axis(patch, "cuda.a_x", "0:1:0.5").values == (0, 0.5, 1)
    patch.annotate(Osc(port=osc_port))
    with Engine(patch, device="host") as engine, SimpleUDPClient(HOST, osc_port) as client:

        def is_set() -> bool:
            client.send_message("/cuda/a", [1.5])  # of another size, so it is left out
            client.send_message("/cuda/b", [4.0, 5.0, 6.0])
            client.send_message("/cuda/c_w", 7.0)
            engine.step()
            return engine.read(node["out"])[1:10].tolist() == [0.5, -1, 4, 5, 6, 0.25, 0.25, 0.25, 7]

        until(is_set)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"b": (1, 2)}, "parameter b must be 3 numbers, got (1, 2)"),
        ({"b": 1.0}, "parameter b must be 3 numbers, got 1.0"),
        ({"b": "123"}, "parameter b must be 3 numbers, got '123'"),
        ({"a": (1, 11)}, "parameter a_y must be at most 10, got 11"),
        ({"d": (1, 2, 0.5)}, "parameter d_z must be a whole number, got 0.5"),
        ({"e": (1, 2, 3, 256)}, "parameter e_w must be at most 255, got 256"),
        ({"constants": "b", "b": (1, float("nan"), 1)}, "parameter b_y must be a finite number, got nan"),
    ],
)
def test_wrong_vectors_are_refused(values: dict[str, object], message: str) -> None:
    """Another number of components, or one that does not fit, changes nothing."""
    patch = Patch()
    node = placed(patch)
    before = dict(patch.nodes[node.id].parameters)
    with pytest.raises(PatchError) as refused:
        patch.set(node, **values)
    assert message in str(refused.value) and patch.nodes[node.id].parameters == before


def test_json_beside_ptx_declares_vectors(tmp_path: Path) -> None:
    """PTX has only bytes: the type comes from a manifest, in our words or in another program's."""
    text = 'extern "C" __global__ void shade(float* out, float3 Direction) { *out = Direction.y; }'
    image = load_image(CudaText(text), HOST_ARCHITECTURE)
    (written,) = describe_kernels(image)
    assert written.parameters[1].element_type == "float3"
    ours = {"name": "shade", "parameters": [{"index": 0, "name": "out", "direction": "out"}, {"index": 1}]}
    ours["parameters"][1] |= {  # type: ignore[call-overload]
        "name": "Direction", "element_type": "float3", "is_pointer": False, "default": [0, 1, 0], "maximum": 2
    }  # fmt: skip
    theirs = {
        "entryPoint": "shade",
        "parameters": [
            {"name": "Out", "type": "float*", "direction": "Out"},
            {"name": "Direction", "type": "float3", "isPointer": False},
        ],
    }
    wrong = {"entryPoint": "shade", "parameters": [{"name": "Out"}, {"name": "Direction", "type": "float4"}]}
    for number, (manifest, default) in enumerate(((ours, [0, 1, 0]), (theirs, [1, 1, 1]), (wrong, None))):
        path = tmp_path / f"shade{number}.ptx"
        path.write_text(image.ptx)
        path.with_suffix(".json").write_text(json.dumps(manifest))
        patch = Patch()
        node = patch.add("kernel.file", file=str(path))
        if default is None:
            problem = " ".join(item.message for item in check_patch(patch))
            assert "declared as a type of 12 bytes, got float4 (16 bytes)" in problem
            continue
        assert [patch.value(node, f"Direction_{letter}") for letter in "xyz"] == default
        patch.set(node, Direction=(1, 0.25, 0.5))
        with Engine(patch, device="host") as engine:
            engine.step()
            assert float(engine.read(PortRef(node.id, written.parameters[0].name if number == 0 else "Out"))[0]) == 0.25


def test_blocks_declare_vectors(device: Device, tmp_path: Path) -> None:
    """A block's vector is passed as one argument; without `describe`'s types fitting the kernel's, the node says so."""
    (tmp_path / "move.cu").write_text(
        'extern "C" __global__ void move(const float* x, float* out, float3 by, float2 more, int count) {\n'
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < count) out[i] = x[i] + by.x + 10 * by.y + 100 * by.z + more.x * more.y;\n}\n"
    )

    class Move(Block, id="test_vectors.move", version=1):
        """Adds numbers."""

        x: In[f32] = port(doc="Numbers.")
        out: Out[f32] = port(doc="Sums.")
        by: float3 = param((1, 2, 3), min=-5, max=5, replaces=("offset",), doc="What is added.")  # type: ignore[assignment]
        more: float2 = param((0.0, 0.0), doc="Factors.")  # type: ignore[assignment]
        swaps: bool = param(False, structural=True, doc="Whether the arguments are in the wrong order.")

        def describe(self, build: BlockBuilder) -> None:
            vectors = (self.more, self.by) if self.swaps else (self.by, self.more)
            kernel = Kernel(str(tmp_path / "move.cu"), "move")
            build.launch(kernel, num_threads=self.out.size, args=(self.x, self.out, *vectors, self.out.size))

    assert list(Move.parameters) == ["by_x", "by_y", "by_z", "more_x", "more_y", "swaps"]
    assert Move.parameters["by_y"].doc == "What is added: y."
    patch = Patch()
    node = patch.add(Move.id, offset_x=2, by_y=3)
    for size in (1, 33):
        array = patch.add("io.array", data=np.arange(size, dtype=np.float32))
        patch.connect(array["out"], node["x"])
        with Engine(patch, device=device) as engine:
            engine.step()
            np.testing.assert_array_equal(engine.read(node["out"]), np.arange(size) + 332)
            patch.set(node, by=np.array([1, 0, -1]), more=(2, 3))
            assert engine.step().update_level is UpdateLevel.HOT
            np.testing.assert_array_equal(engine.read(node["out"]), np.arange(size) - 93)
        patch.undo()
    patch.set(node, swaps=True)
    (problem,) = check_patch(patch)
    assert problem.message == "kernel move: argument move_param_2 must be declared as float2, got float3"


def test_wrong_declarations_are_refused() -> None:
    """A default of another size, and a parameter with the name of a component, are mistakes of the block."""
    with pytest.raises(BlockDefinitionError, match="default of parameter at must be 3 numbers, got 1"):

        class Short(Block, id="test_vectors.short", version=1):
            """Has too short a default."""

            out: Out[f32] = port(shape="[1]", doc="A number.")
            at: int3 = param(1, doc="A place.")

            def describe(self, build: BlockBuilder) -> None:
                build.fill(self.out)

    with pytest.raises(BlockDefinitionError, match="at_y must not be declared, since a component of at gets this name"):

        class Twice(Block, id="test_vectors.twice", version=1):
            """Has a name twice."""

            out: Out[f32] = port(shape="[1]", doc="A number.")
            at: float2 = param((0, 0), doc="A place.")  # type: ignore[assignment]
            at_y: float = param(0.0, doc="A place.")

            def describe(self, build: BlockBuilder) -> None:
                build.fill(self.out)
