"""Structs by value as parameters: each number of a struct is one of the patch, at the place that the kernel reads."""

import json
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, Kernel, Out, Struct, f32, float3, param, port, s16, s32
from warploom.engine.device.device import HOST_ARCHITECTURE, Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.kernel_sources.describe import describe_kernels
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaText
from warploom.engine.patch.document import NodeRef
from warploom.engine.runtime.check.check_patch import check_patch

STRUCT = """struct Inner { float a; int b; };
typedef struct {
    float gain = 2.0f;   // [0, 4] how much
    short low, high;     // = 3, a bound
    float3 tint;         // = (1, 2, 3), a colour
    bool on = true;
    unsigned char taps[3];
    Inner inner;
    double d;            // = -0.5
} Look;
"""
BODY = """extern "C" __global__ void show(float* out, const Look look, float2 at) {
    if (blockIdx.x || threadIdx.x) return;
    const double found[] = {look.gain, look.low, look.high, look.tint.x, look.tint.y, look.tint.z, look.on,
                            look.taps[0], look.taps[1], look.taps[2], look.inner.a, look.inner.b, look.d, at.x, at.y};
    for (int k = 0; k < 15; ++k) out[k] = found[k];
}
"""
DEFAULTS = [2, 3, 3, 1, 2, 3, 1, 0, 0, 0, 1, 0, -0.5, 1, 1]


def placed(code: str, **values: object) -> tuple[Patch, NodeRef]:
    patch = Patch()
    node = patch.add("kernel.cuda", code=code, size=16, **values)
    return patch, node


def test_fields_are_live_parameters(device: Device, tmp_path: Path) -> None:
    """Numbers, vectors, arrays and structs in a struct have their ranges and defaults; changing one is HOT."""
    (tmp_path / "look.cuh").write_text(STRUCT)
    patch, node = placed('#include "look.cuh"\n' + BODY, include_folders=str(tmp_path))
    patch.trusted = True
    with Engine(patch, device=device) as engine:
        engine.step()
        assert engine.read(node["out"])[:15].tolist() == DEFAULTS
        changed = {"gain": 1.5, "high": -7, "tint": (4, 5, 6), "on": False, "taps_2": 200, "inner_b": -5, "d": 9.25}
        patch.set(node, **{f"look_{name}": value for name, value in changed.items()})
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (UpdateLevel.HOT, ())
        assert engine.read(node["out"])[:15].tolist() == [1.5, 3, -7, 4, 5, 6, 0, 0, 0, 200, 1, -5, 9.25, 1, 1]
        value = patch.add("value.slider", setting=0.25)
        patch.connect(value["value"], node["look_inner_a"])
        engine.step()
        assert engine.read(node["out"])[10] == 0.25
    with pytest.raises(PatchError, match="look_gain must be at most 4"):
        patch.set(node, look_gain=5)
    with pytest.raises(PatchError, match="look_low must be at most 32767"):
        patch.set(node, look_low=40000)


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        ("struct P { float a, b; int k; };", ["p_a", "p_b", "p_k"]),
        ("struct __align__(16) P { float a, b; int k; };", ["p_0", "p_4", "p_8"]),  # larger than its fields
        ("struct P { char c; float a, b; int k; };", ["p_c", "p_a", "p_b", "p_k"]),
        ("#pragma pack(1)\nstruct P { char c; float a, b; int k; };", None),  # loaded byte by byte
        ("struct P { float a, b; int k; __device__ float twice() const { return 2 * a; } };", ["p_0", "p_4", "p_8"]),
        ("template <class T> struct Of { T a, b; int k; }; using P = Of<float>;", ["p_0", "p_4", "p_8"]),
    ],
)
def test_declarations_that_are_not_understood(declared: str, names: list[str] | None) -> None:
    """Without a plain declaration, fields are named by their place, as the kernel loads them; never at a wrong one."""
    code = declared + 'extern "C" __global__ void sum(float* out, P p) { *out = p.a + 10 * p.b + 100 * p.k; }'
    patch, node = placed(code)
    if names is None:
        names = [name for name in patch.block_type(node.id).parameters if name.startswith("p_")]  # type: ignore[union-attr]
        assert "p_a" not in names
        return
    assert [name for name in patch.block_type(node.id).parameters if name.startswith("p_")] == names  # type: ignore[union-attr]
    patch.set(node, **dict(zip(names[-3:], (1, 2, 3), strict=True)))
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(node["out"])[0] == 321


def test_fields_named_as_sizes_are_sizes(device: Device) -> None:
    """Fields such as `count` and `image_width` follow the buffers, whose sizes may change; others are live."""
    code = """struct Shape { int count; float gain; short image_width; };
    extern "C" __global__ void scale(const float* image, float* out, Shape s) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < s.count) out[i] = image[i] * s.gain + 100 * s.image_width;
    }"""
    patch = Patch()
    node = patch.add("kernel.cuda", code=code)
    image = patch.add("io.array", data=np.ones((3, 5), np.float32))
    patch.connect(image["out"], node["image"])
    assert [name for name in patch.block_type(node.id).parameters if name.startswith("s_")] == ["s_gain"]  # type: ignore[union-attr]
    with Engine(patch, device=device) as engine:
        for shape, gain, level in (((3, 5), 2, "COLD"), ((3, 5), 3, "HOT"), ((31, 33), 3, "WARM"), ((1, 2), 4, "WARM")):
            patch.set(node, s_gain=gain)
            patch.set(image, data=np.ones(shape, np.float32))
            report = engine.step()
            assert (report.diagnostics, report.update_level.name) == ((), level)
            np.testing.assert_array_equal(engine.read(node["out"]), np.full(shape, gain + 100 * shape[1], np.float32))


def test_ptx_has_fields_by_place_or_by_its_manifest(device: Device, tmp_path: Path) -> None:
    """Of PTX alone, what the kernel loads is known; a manifest names fields, and wrong ones are refused."""
    code = 'struct P { float a; int k; float3 v; };\nextern "C" __global__ void sum(float* out, P p) '
    image = load_image(CudaText(code + "{ *out = p.a + 10 * p.k + 100 * p.v.z; }"), HOST_ARCHITECTURE)
    (written,) = describe_kernels(image)
    assert [(f.name, f.type, f.offset) for f in written.parameters[1].fields] == [
        ("a", "f32", 0), ("k", "s32", 4), ("v", "float3", 8),
    ]  # fmt: skip
    fields = [{"name": "a", "type": "float"}, {"name": "k", "type": "int"}, {"name": "v", "type": "float3"}]
    names = [parameter.name for parameter in image.signature("sum").parameters]
    for number, given in enumerate((None, fields, fields[:2], [{"name": "a", "type": "long"}])):
        path = tmp_path / f"sum{number}.ptx"
        path.write_text(image.ptx)
        if given is not None:
            parameters = [{"index": 0, "name": "out"}, {"index": 1, "name": "p", "fields": given}]
            path.with_suffix(".json").write_text(json.dumps({"name": "sum", "parameters": parameters}))
        patch = Patch()
        if number == 3:
            with pytest.raises(PatchError, match="type of field a of p must be the name of a scalar or vector"):
                patch.add("kernel.file", file=str(path), size=1)
            continue
        node = patch.add("kernel.file", file=str(path), size=1)
        own = {0: names[1], 1: "p", 2: "p"}.get(number)
        parts = ("a", "k", "v_z") if number == 1 else ("0", "4", "16")
        patch.set(node, **{f"{own}_{part}": value for part, value in zip(parts, (1, 2, 3), strict=True)})
        with Engine(patch, device=device) as engine:
            engine.step()
            assert engine.read(node["out" if own == "p" else names[0]])[0] == 321


class _Look(Struct):
    gain: f32
    low: s16
    tint: float3


def test_blocks_pass_structs(device: Device, tmp_path: Path) -> None:
    """A block makes a struct of its live parameters; one with other fields than the kernel's is refused."""
    (tmp_path / "show.cu").write_text(
        "struct Look { float gain; short low; float3 tint; };\n"
        'extern "C" __global__ void show(float* out, Look l) { *out = l.gain + 10 * l.low + 100 * l.tint.z; }\n'
    )

    class Other(Struct):
        gain: f32
        low: s32
        tint: float3

    class Show(Block, id="test_structs.show", version=1):
        """Shows a struct."""

        out: Out[f32] = port(shape="[1]", doc="A number.")
        gain: float = param(1.0, doc="A number.")
        low: int = param(2, doc="A number.")
        tint: float3 = param((0, 0, 3), doc="A colour.")  # type: ignore[assignment]
        kind: str = param("", doc="Which mistake is made.")

        def describe(self, build: BlockBuilder) -> None:
            low = 3 if self.kind == "constant" else self.low
            struct = Other if self.kind == "other" else _Look
            look = build.struct(struct, gain=self.gain, low=low, tint=self.tint)  # type: ignore[arg-type]
            build.launch(Kernel(str(tmp_path / "show.cu"), "show"), num_threads=1, args=(self.out, look))

    patch = Patch()
    node = patch.add(Show.id)
    with Engine(patch, device=device) as engine:
        engine.step()
        assert engine.read(node["out"]).tolist() == [321]
        patch.set(node, low=-1, tint=(0, 0, 0.5))
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["out"]), [41])
    for kind, text in {
        "other": "must be declared as struct of f32 @0, s32 @4",
        "constant": "field low of _Look must be a live parameter of type s16, got 3",
    }.items():
        patch.set(node, kind=kind)
        assert text in " ".join(item.message for item in check_patch(patch))
