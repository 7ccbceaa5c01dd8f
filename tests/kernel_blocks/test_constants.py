"""Constants: parameters that a person has compiled into a block's kernel, from any source of kernels."""

from pathlib import Path

import numpy as np
import pytest

from tests.kernel_sources.test_python_kernels import needs
from tests.waiting import next_report, until
from warploom import Engine, Patch, UpdateLevel
from warploom.api import OpGraphBuilder
from warploom.engine.compiler.inspection.text import plan_text
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_blocks.constants import constant_names, marked
from warploom.engine.kernel_sources.python.trust import trusted_folders
from warploom.engine.ops import graph_to_json
from warploom.engine.patch.changes import ParameterChanged, PortRef
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.runtime.check.check_patch import plan_patch

X = np.linspace(-2, 2, 1027, dtype=np.float32)
CUDA = """extern "C" __global__ void scale(const float* x, float* out, float gain, int times, bool negates, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f;
    for (int turn = 0; turn < times; ++turn) sum = __fadd_rn(sum, __fmul_rn(gain, x[i]));
    out[i] = negates ? -sum : sum;
}
"""
PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 out, .param .f32 gain, .param .u32 count)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; ld.param.f32 %f1, [gain]; ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p, %r5, %r1;
    @%p ret;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4]; mul.rn.f32 %f2, %f2, %f1; st.global.f32 [%rd5], %f2;
    ret;
}
"""
TRITON = '''import triton
import triton.language as tl


@triton.jit
def scale(x: "*fp32", out: "*fp32", gain: "fp32", count: "i32", BLOCK: tl.constexpr = 256):
    """Scale."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, gain * tl.load(x + at, mask=inside), mask=inside)
'''


def _graph() -> dict[str, object]:
    """Return gain * x as an op graph."""
    g = OpGraphBuilder()
    x, gain = g.add("op.input", "x"), g.add("op.parameter", "gain", default=1.0)
    g.add("op.output", "out", value=g.add("op.multiply", a=x["value"], b=gain["out"])["out"])
    return graph_to_json(g.graph())


SOURCES = [
    "cuda file",
    "cuda text",
    "ptx file",
    "op graph",
    "expression",
    pytest.param("triton", marks=needs("triton")),
]


def _place(patch: Patch, source: str, folder: Path, **values: object) -> str:
    """Place a block `scale` whose kernel computes gain * X."""
    texts = {"cuda file": ("scale.cu", CUDA), "ptx file": ("scale.ptx", PTX), "triton": ("scale.py", TRITON)}
    if source in texts:
        name, text = texts[source]
        (folder / name).write_text(text)
        trusted_folders.add(folder)
        node = patch.add("kernel.file", node_id="scale", file=str(folder / name), **values)
    elif source == "cuda text":
        node = patch.add("kernel.cuda", node_id="scale", code=CUDA, **values)
    elif source == "op graph":
        node = patch.add("kernel.graph", node_id="scale", graph=_graph(), **values)
    else:
        node = patch.add("kernel.expression", node_id="scale", expression="gain * x", **values)
    if "cuda" in source:
        patch.set(node, times=1)
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    return node.id


@pytest.mark.parametrize("source", SOURCES)
def test_another_value_of_a_constant_swaps_the_code(device: Device, source: str, tmp_path: Path) -> None:
    """For each source, a constant and a live parameter give the same bits; a parameter that is live again is HOT."""
    patch = Patch()
    node = _place(patch, source, tmp_path, gain=0.1)
    with Engine(patch, device=device) as engine:

        def step(level: UpdateLevel, gain: float) -> None:
            report = engine.step()
            assert (report.update_level, report.diagnostics) == (level, ())
            got = engine.read(PortRef(node, "out"))
            expected = np.float32(gain) * X
            if "cuda" in source:
                expected += np.float32(0)  # the kernel's sum begins with 0
            np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))

        step(UpdateLevel.COLD, 0.1)
        patch.set(node, constants="gain")
        step(UpdateLevel.COLD, 0.1)
        for gain in (-3.5, 0.0, -0.0, 2):
            cost = engine.cost_of([ParameterChanged(node, "gain", gain, patch.value(node, "gain"))])
            assert cost.level is UpdateLevel.CODE
            patch.set(node, gain=gain)
            step(UpdateLevel.CODE, gain)
        patch.set(node, gain=2.0)
        step(UpdateLevel.NONE, 2)
        patch.set(node, constants="")
        step(UpdateLevel.COLD, 2)
        patch.set(node, gain=4.0)
        step(UpdateLevel.HOT, 4)
        patch.set(node, constants="gain")
        step(UpdateLevel.COLD, 4)
        patch.set(node, gain=5.0)
        step(UpdateLevel.CODE, 5)


@pytest.mark.parametrize("source", ["cuda text", "op graph"])
def test_constants_are_saved_with_the_patch_and_undone(source: str, tmp_path: Path) -> None:
    """A loaded patch has its constants; one undo step takes a mark back, and another one a value."""
    patch = Patch()
    node = _place(patch, source, tmp_path, constants="gain", gain=0.5)
    patch.set(node, gain=1.5)
    save_patch(patch, tmp_path / "it.loom")
    again = load_patch(tmp_path / "it.loom")
    with Engine(again, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(PortRef(node, "out")), np.float32(1.5) * X)
        again.set(node, gain=3.0)
        assert engine.step().update_level is UpdateLevel.CODE
        again.set(node, constants="")
        assert engine.step().update_level is UpdateLevel.COLD
        again.undo()
        engine.step()
        spec = again.parameter(node, "gain")
        assert spec.is_constant and again.value(node, "gain") == 3.0
        again.undo()
        assert engine.step().update_level is UpdateLevel.CODE
        np.testing.assert_array_equal(engine.read(PortRef(node, "out")), np.float32(1.5) * X)


def test_switches_and_counts_are_constants_too(device: Device) -> None:
    """The loop over `times` and the choice by `negates` are compiled for their values."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=CUDA, constants="times; negates, gain", gain=0.5, times=5, negates=True)
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        for times, negates in ((5, True), (3, True), (3, False)):
            patch.set(node, times=times, negates=negates)
            engine.step()
            total = np.zeros_like(X)
            for _ in range(times):
                total += np.float32(0.5) * X
            np.testing.assert_array_equal(engine.read(node["out"]), -total if negates else total)
        plan, _ = plan_patch(patch)
        assert plan is not None
        assert "gain = 0.5 compiled in; times = 3 compiled in; negates = False compiled in" in plan_text(plan)
        with pytest.raises(PatchError, match="times must be at least -2147483648, got -1099511627776"):
            patch.set(node, times=-(2**40))
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), total)


def test_a_half_is_a_number(device: Device) -> None:
    """A number of type half, which C++ passes as a struct, is rounded to f16 as a live parameter and as a constant."""
    code = """#include <cuda_fp16.h>
extern "C" __global__ void scale(const float* x, float* out, const __half gain, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = __half2float(gain) * x[i];
}
"""
    patch = Patch()
    node = patch.add("kernel.cuda", code=code, gain=0.1)
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    with Engine(patch, device=device) as engine:
        for constants in ("", "gain"):
            patch.set(node, constants=constants)
            for gain in (0.1, -3.5):
                patch.set(node, gain=gain)
                assert engine.step().diagnostics == ()
                np.testing.assert_array_equal(engine.read(node["out"]), np.float32(np.float16(gain)) * X)


@pytest.mark.parametrize(("kind", "size"), [("Held", 8), ("__nv_bfloat162", 4), ("__nv_bfloat16", 2)])
def test_other_structs_are_no_parameters_of_a_block(kind: str, size: int) -> None:
    """A struct of other things than numbers is reported in one diagnostic, instead of shown as sliders."""
    code = f'extern "C" __global__ void set({kind}* out, {kind} value) {{ *out = value; }}'
    patch = Patch()
    node = patch.add("kernel.cuda", code=f"#include <cuda_bf16.h>\nstruct Held {{ float* x; }};\n{code}")
    placed = patch.nodes[node.id]
    _, problem = patch.catalogue.resolve(placed.type, placed.parameters, lambda: patch.folder, trusted=True)
    rule = "parameter value must be a number, a vector, a pointer or a struct of numbers"
    assert f"{rule}, got a struct of {size} bytes with other members" in str(problem)
    assert problem is not None and problem.remedy == "give the kernel these members as parameters of their own"


def test_fused_neighbours_take_constants(device: Device) -> None:
    """A formula's constant is compiled into the kernel that computes several fused blocks."""
    patch = Patch()
    first = patch.add("kernel.expression", expression="x * gain", gain=3.0, constants="gain")
    second = patch.add("math.scale_offset", scale=2.0, offset=1.0)
    patch.connect(patch.add("io.array", data=X)["out"], first["x"])
    patch.connect(first["out"], second["x"])
    with Engine(patch, device=device) as engine:
        engine.step()
        for gain in (3.0, -0.5):
            patch.set(first, gain=gain)
            report = engine.step()
            assert report.nodes[first.id].fused_into == (second.id,)
            np.testing.assert_array_equal(engine.read(second["out"]), 2 * (np.float32(gain) * X) + np.float32(1))
        assert report.update_level is UpdateLevel.CODE


@pytest.mark.parametrize("source", ["cuda text", "op graph"])
def test_a_value_that_comes_with_the_mark_counts_and_the_next_one_too(source: str, tmp_path: Path) -> None:
    """A new value applies in the next frame, even if the same edit makes its parameter a constant or live again."""
    patch = Patch()
    node = _place(patch, source, tmp_path, gain=2.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        for constants in ("gain", "", "gain", ""):
            for gain in (3.0, -1.5, 0.25):
                patch.set(node, constants=constants, gain=gain)
                engine.step()
                np.testing.assert_array_equal(engine.read(PortRef(node, "out")), np.float32(gain) * X)


@pytest.mark.parametrize("source", ["cuda text", "op graph"])
def test_a_constant_is_not_driven(source: str, tmp_path: Path) -> None:
    """A new connection to a constant is refused; the node reports an existing one, and uses its own value."""
    patch = Patch()
    node = _place(patch, source, tmp_path, gain=2.0)
    lfo = patch.add("value.lfo", offset=5.0, amplitude=0.0)
    patch.connect(lfo["value"], PortRef(node, "gain"))
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(PortRef(node, "out")), 5 * X)
        patch.set(node, constants="gain")
        (problem,) = engine.step().diagnostics
        assert (problem.node, problem.port) == (node, "gain")
        assert "must be live to be driven, got a constant of the kernel" in problem.message
        np.testing.assert_array_equal(engine.read(PortRef(node, "out")), 2 * X)
        for connection in patch.connections_of(lfo.id):
            patch.disconnect(connection)
        assert engine.step().diagnostics == ()
        with pytest.raises(PatchError, match="must be live to be driven, got a constant"):
            patch.connect(lfo["value"], PortRef(node, "gain"))


def test_names_that_are_no_parameters_are_told() -> None:
    """Ports, sizes and unknown names in the list of constants are reported, and the other constants apply."""
    patch = Patch()
    node = patch.add("kernel.cuda", code=CUDA, constants="x, count, gain, nothing", times=1)
    patch.connect(patch.add("io.array", data=X)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        found = engine.step().diagnostics
    rule = "constants must name parameters that are passed to the kernel (gain, times, negates), got "
    assert [problem.message for problem in found] == [rule + name for name in ("x", "count", "nothing")]
    assert {(problem.node, problem.port) for problem in found} == {(node.id, "constants")}


def test_numbers_of_a_struct_are_no_constants() -> None:
    """The message says what they are, and the remedy names the two ways to compile them in."""
    code = """struct Window { int radius; float gain; };
extern "C" __global__ void scale(float* out, Window window) { *out = window.gain * window.radius; }
"""
    patch = Patch()
    node = patch.add("kernel.cuda", code=code, constants="window_radius")
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert problem.message.endswith("(none), got window_radius, a number of a vector or a struct")
    assert (problem.node, problem.remedy) == (node.id, "make it a parameter of its own, or a macro in defines")


def test_a_saved_file_keeps_its_constants(tmp_path: Path) -> None:
    """A saved file is compiled with the same constants, and a constant whose parameter is gone is reported."""
    patch = Patch()
    node = _place(patch, "cuda file", tmp_path, gain=2.0, constants="gain")
    with Engine(patch, device="host") as engine:
        engine.watch_files()
        engine.start()
        until(lambda: np.array_equal(engine.read(PortRef(node, "out")), 2 * X))
        for text, factor in ((CUDA.replace("-sum : sum", "-sum : 3 * sum"), 6), (CUDA.replace("gain", "factor"), 1)):
            (tmp_path / "new").write_text(text)
            (tmp_path / "new").replace(tmp_path / "scale.cu")
            until(lambda factor=factor: np.array_equal(engine.read(PortRef(node, "out")), factor * X))
        report = next_report(engine, lambda report: report.diagnostics)
        assert any("constants must name parameters that are passed" in item.message for item in report.diagnostics)


def test_marking_keeps_the_other_names() -> None:
    """Marking a constant removes names that the kernel no longer has, and duplicates."""
    assert constant_names(" a;b , a,,") == ["a", "b"]
    assert marked("a, gone", "b", is_constant=True, known=["a", "b"]) == "a, b"
    assert marked("a; b", "a", is_constant=False, known=["a", "b"]) == "b"
    assert marked("b", "b", is_constant=True, known=["b"]) == "b"
