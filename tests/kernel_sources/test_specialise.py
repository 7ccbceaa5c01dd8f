"""A kernel with constants computes the same as the general kernel with these numbers as arguments."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.engine.device.device import HOST_ARCHITECTURE, Device
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaFile, CudaText, PtxFile, SpecialisedKernel
from warploom.engine.kernel_sources.specialise import specialised_cuda, specialised_ptx
from warploom.engine.ptx import parse
from warploom.engine.types import Array

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"


def run(device: Device, ptx: str | bytes, entry: str, outputs: Array, *arguments: Any) -> Array:
    """Return the outputs after one thread has run."""
    made = device.upload(outputs)
    device.launch(device.load_module(ptx).kernel(entry), grid=(1,), thread_block=(1,), args=[made, *arguments])
    device.synchronize()
    return made.download()


def storing(kind: str, register: str) -> str:
    """Return PTX that loads its parameter `k` of this type and stores the register."""
    width = {"b16": "b16", "b32": "b32", "f32": "b32", "b64": "b64", "f64": "b64", "f16": "b16"}[register]
    return f"""{HEAD}.visible .entry store(.param .u64 out, .param .{kind} k)
{{
    .reg .b64 %rd; .reg .{register} %v;
    ld.param.u64 %rd, [out]; ld.param.{kind} %v, [k];
    st.global.{width} [%rd], %v;
    ret;
}}
"""


WIDTHS = {"b16": np.uint16, "b32": np.uint32, "f32": np.uint32, "b64": np.uint64, "f64": np.uint64, "f16": np.uint16}
WHOLE = {
    **{f"u{n}": (0, 1, 2**n - 1, 2 ** (n - 1)) for n in (8, 16, 32, 64)},
    **{f"s{n}": (0, -1, 2 ** (n - 1) - 1, -(2 ** (n - 1))) for n in (8, 16, 32, 64)},
}
FLOATS = (0.0, -0.0, 0.1, -1e-7, 65504.0, math.inf, math.nan)
WHOLE_IN = [
    (kind, register) for kind in WHOLE for register in ("b16", "b32", "b64") if int(kind[1:]) <= int(register[1:])
]
FLOATS_IN = [("b16", "f16"), ("f32", "f32"), ("f32", "b32"), ("f64", "f64"), ("f64", "b64")]
CASES = [
    *[(*place, value) for place in WHOLE_IN for value in WHOLE[place[0]]],
    *[(*place, value) for place in FLOATS_IN for value in FLOATS],
]


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in CASES}))
def test_a_register_holds_what_a_load_would_give(device: Device, kind: str) -> None:
    """For every type, in registers of its size and wider, the bits equal numpy's and those of a live load."""
    for _, register, value in [case for case in CASES if case[0] == kind]:
        text = storing(kind, register)
        signature = parse(text).signatures["store"]
        made = specialised_ptx(text, signature, {1: value})
        width = WIDTHS[register]
        ours = run(device, made, "store", np.zeros(1, width), 0)
        live = run(device, text, "store", np.zeros(1, width), value)
        if isinstance(value, float):
            expected = np.array([value], f"f{int(kind[1:]) // 8}").view(width)
        else:
            expected = np.array([value % (1 << 8 * np.dtype(width).itemsize)], width)
        np.testing.assert_array_equal(ours, expected, f"{kind} {register} {value}")
        np.testing.assert_array_equal(ours, live)


def test_structs_vectors_offsets_guards_and_neighbours(device: Device) -> None:
    """Every way to read a part of a parameter gives the constant, and other entry points keep their own parameters."""
    body = """
    .reg .pred %p<2>; .reg .b64 %rd<2>; .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b16 %s;
    ld.param.u64 %rd0, [out]; /* } ld.param.u32 %r0, [k]; */ setp.eq.u64 %p0, %rd0, 0;
    ld.param.v2.f32 {%f0, %f1}, [k];  // ld.param.u32 %r0, [k]; {
    mov.u32 %r2, 7; mov.u32 %r3, 8; @!%p0 ld.param.v2.u32 {_, %r0}, [k+8]; @%p0 ld.param.v2.u32 {%r2, %r3}, [k];
    ld.param.s8 %s, [k+7]; cvt.s32.s16 %r1, %s;
    st.global.v2.f32 [%rd0], {%f0, %f1}; st.global.v2.u32 [%rd0+8], {%r0, %r1}; st.global.v2.u32 [%rd0+16], {%r2, %r3};
    ret;
}
"""
    entries = [
        f".visible .entry {name}(.param .u64 out, .param .align 8 .b8 k[16]) .pragma \"nounroll\";\n{{{body}"
        for name in ("one", "other")
    ]  # fmt: skip
    text = HEAD + "".join(entries)
    struct = np.array([1.5, -2.5, 0.25, 3.0], np.float32)
    made = specialised_ptx(text, parse(text).signatures["one"], {1: struct})
    expected = np.array([1.5, -2.5, 3.0, 0, 0, 0], np.float32).view(np.uint32)
    expected[3:] = (np.float32(-2.5).view(np.int32) >> 24).view(np.uint32), 7, 8
    np.testing.assert_array_equal(run(device, made, "one", np.zeros(6, np.uint32), np.zeros(4, np.float32)), expected)
    np.testing.assert_array_equal(run(device, made, "other", np.zeros(6, np.uint32), struct), expected)
    assert len(made.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        ("mov.b64 %rd, k; ld.param.u32 %r, [%rd];", 1, "k must be read by ld.param alone"),
        ("ld.param.u32 %r, [k+4];", 1, "k must be read by ld.param alone"),
        ("ld.param.u32 %r, [k];", 2**40, "k must fit in 4 bytes"),
        ("ld.param.u32 %r, [k];", 0.5, "k must be an integer"),
    ],
)
def test_what_is_no_constant_is_refused(read: str, value: float, message: str) -> None:
    """A constant is refused if its parameter's address is taken, its end is exceeded, or the number doesn't fit."""
    text = f"{HEAD}.visible .entry it(.param .u32 k)\n{{ .reg .b64 %rd; .reg .b32 %r; {read} ret; }}\n"
    with pytest.raises(KernelError, match=message):
        specialised_ptx(text, parse(text).signatures["it"], {0: value})


FIR = """
extern "C" __global__ void fir(float* out, const float* x, int taps, bool squares, float gain);
// The sum (of taps { values ).
extern "C" __global__ void __launch_bounds__(256) fir(float* out, const float* __restrict__ x,
    const int taps /* [1, 8] = 3, how (many) */, bool squares,
    float gain)  // a factor
{
    float sum = 0.0f, kept[8];
    for (int k = 0; k < taps; ++k) kept[k & 7] = x[k];
    for (int k = 0; k < taps; ++k) sum += squares ? kept[k & 7] * kept[k & 7] : kept[k & 7];
    gain += 0.5f;
    *out = gain * sum;
}
"""
X = np.array([1, 2, 4, 8, 16, 32, 64, 128], np.float32)


def loaded(device: Device, source: CudaText | CudaFile | PtxFile, **constants: Any) -> str | bytes:
    """Return the code that a device loads for the FIR kernel with constants."""
    indices = {"taps": 2, "squares": 3, "gain": 4}
    made = SpecialisedKernel(source, "fir", {indices[name]: value for name, value in constants.items()})
    return load_image(made, device.info.architecture).payload(device.info.architecture)


@pytest.mark.parametrize(("taps", "squares", "gain"), [(3, False, 2.0), (8, True, 0.1), (1, True, -0.5)])
def test_cuda_computes_the_same_with_constants(device: Device, taps: int, squares: bool, gain: float) -> None:
    """The launch's own value for a constant is ignored; numpy computes the sums."""
    x = X[:taps] ** 2 if squares else X[:taps]
    expected = (np.float32(gain) + np.float32(0.5)) * x.sum(dtype=np.float32)
    payload = loaded(device, CudaText(FIR), taps=taps, squares=squares, gain=gain)
    out = run(device, payload, "fir", np.zeros(1, np.float32), device.upload(X), 0, False, 0.0)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_loops_unroll_and_branches_vanish() -> None:
    """With constants, the kernel's code has no branch, no selection and no local memory."""
    general = load_image(CudaText(FIR), HOST_ARCHITECTURE).ptx
    made = load_image(SpecialisedKernel(CudaText(FIR), "fir", {2: 5, 3: True}), HOST_ARCHITECTURE).ptx
    for sign in (".local", "bra", "selp"):
        assert sign in general or sign == "selp"
        assert sign not in made
    assert parse(made).signatures["fir"].parameters == parse(general).signatures["fir"].parameters


def test_a_kernel_that_no_search_finds_has_its_constants_in_the_ptx(device: Device, tmp_path: Path) -> None:
    """Constants are put into the PTX if a macro or another file has the kernel's definition."""
    (tmp_path / "fir.cuh").write_text(FIR)
    including = tmp_path / "fir.cu"
    including.write_text('#include "fir.cuh"\n')
    body = FIR[FIR.index(")  // a factor") + len(")  // a factor") :]
    macro = CudaText(
        '#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)\n'
        f"KERNEL(fir, float* out, const float* x, int taps, bool squares, float gain){body}"
    )
    for source in (CudaFile(str(including)), macro):
        image = load_image(source, HOST_ARCHITECTURE)
        assert specialised_cuda(image.text, image.signature("fir"), {2: 3}) is None
        payload = loaded(device, source, taps=3, gain=0.5)
        assert run(device, payload, "fir", np.zeros(1, np.float32), device.upload(X), 0, False, 0.0) == 7


def test_mistakes_in_cuda_keep_their_lines() -> None:
    """A constant that breaks the code is an error at the line that the person sees."""
    text = FIR.replace("gain += 0.5f;", "static_assert(sizeof(gain) == 4);\n    wrong(gain);")
    with pytest.raises(KernelError) as general:
        load_image(CudaText(text), HOST_ARCHITECTURE)
    signature = load_image(CudaText(FIR), HOST_ARCHITECTURE).signature("fir")
    made = specialised_cuda(text, signature, {2: 3, 4: 1.0})
    assert made is not None
    with pytest.raises(KernelError) as special:
        load_image(CudaText(made), HOST_ARCHITECTURE)
    assert general.value.line == special.value.line is not None


def test_enumerations_wide_numbers_and_rounding(device: Device) -> None:
    """A constant becomes an enumerator, keeps all 64 bits, or is rounded to the nearest float, as in C++."""
    text = CudaText("""enum class Mode { A, B = 3 };
extern "C" __global__ void it(double* out, Mode mode, long long big, unsigned long long huge, float f, double d) {
    out[0] = mode == Mode::B; out[1] = (double)(big + 1); out[2] = (double)(huge >> 1); out[3] = f; out[4] = d;
}
""")
    constants = {1: 3, 2: -(2**63), 3: 2**64 - 1, 4: 0.1, 5: -0.0}
    payload = load_image(SpecialisedKernel(text, "it", constants), device.info.architecture).payload(
        device.info.architecture
    )
    out = run(device, payload, "it", np.zeros(5), 0, 0, 0, 0.0, 0.0)
    expected = np.array([1, float(1 - 2**63), float(2**63 - 1), float(np.float32(0.1)), -0.0])
    np.testing.assert_array_equal(out.view(np.uint64), expected.view(np.uint64))


def test_constants_that_look_alike_are_other_sources() -> None:
    """0.0 and -0.0, or 1 and True, give different kernels as constants; equal numbers give the same kernel."""
    source = CudaText(FIR)
    made = [SpecialisedKernel(source, "fir", {4: value}) for value in (0.0, -0.0, 0, False, 1, True, 1.0)]
    assert len(set(made)) == 7
    assert SpecialisedKernel(source, "fir", {4: 2.5, 2: 3}) == SpecialisedKernel(source, "fir", {2: 3, 4: 2.5})
    assert made[1].values == {4: -0.0} and math.copysign(1, made[1].values[4]) == -1
    for wrong in ({}, {4: math.nan}, {4: "taps"}, {"gain": 1}):
        with pytest.raises(KernelError, match="constants of a kernel must be numbers"):
            SpecialisedKernel(source, "fir", wrong)  # type: ignore[arg-type]
    with pytest.raises(KernelError, match="constants of fir must be for its parameters 0 to 4, got 9"):
        load_image(SpecialisedKernel(source, "fir", {9: 1}), HOST_ARCHITECTURE)
