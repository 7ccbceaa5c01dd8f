"""Kernel versions for branches that the parameters alone decide."""

import struct

import numpy as np
import pytest

from warploom.engine.host_compiler.analysis.launch_values import launch_values
from warploom.engine.host_compiler.passes.launch_versions import for_launches
from warploom.engine.ptx import parse
from warploom.engine.ptx.tree import Register

MODES = """
extern "C" __global__ void modes(const void* x, float* out, unsigned int type, int mode, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value;
  if ((type & 0xFFFF) == 8) {
    const double2 pair = static_cast<const double2*>(x)[i];
    value = static_cast<float>(pair.x * pair.y + pair.x);
  } else {
    const float2 pair = static_cast<const float2*>(x)[i];
    value = pair.x * pair.y + pair.x;
  }
  if (mode == 1) for (int k = 0; k < 5; k++) value = value * scale + static_cast<float>(k * i);
  if (mode == 2) value = value < 0.0f ? sqrtf(-value) / scale : sqrtf(value) * scale + 1.0f;
  out[i] = value;
}"""
SHUFFLED = """
extern "C" __global__ void shuffled(int* x, int mode) {
  __shared__ int s[64];
  int t = threadIdx.x, value = x[t];
  if (mode == 0) {
    s[t] = value;
    __syncthreads();
    value = s[63 - t] * 3 + 1;
  } else if (mode < 0) {
    for (int k = 16; k; k /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, k);
  }
  x[t] = value;
}"""


@pytest.mark.parametrize("n", [1, 31, 33, 1000])
def test_every_mode_of_a_launch(run_optimised, dialect, n):
    """A kernel with a type and a mode equals numpy for all of them, up to the end of buffers of the smaller type."""
    random = np.random.default_rng(n)
    for dtype in (np.float32, np.float64):
        x = random.standard_normal((n, 2)).astype(dtype)
        start = (x[:, 0] * x[:, 1].astype(np.float64) + x[:, 0]).astype(np.float32)
        for mode in (0, 1, 2, 3, -1):
            arguments = [x, np.zeros(n, np.float32), 7 << 16 | x.itemsize, mode, np.float32(0.5), n]
            found = run_optimised(MODES, "modes", -(-n // 64), 64, *arguments, dialect=dialect)[1]
            wanted = start.astype(np.float64)
            for k in range(5 if mode == 1 else 0):
                wanted = wanted * 0.5 + k * np.arange(n)
            if mode == 2:
                wanted = np.where(wanted < 0, np.sqrt(np.abs(wanted)) / 0.5, np.sqrt(np.abs(wanted)) * 0.5 + 1)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_modes_with_barriers_and_shuffles(run_optimised, dialect):
    """Ways in which threads wait, or do not, give the same as numpy."""
    x = np.arange(64, dtype=np.int32) ** 2
    sums = x.reshape(2, 32).sum(axis=1).repeat(32)
    for mode, wanted in ((0, x[::-1] * 3 + 1), (-5, sums), (1, x)):
        assert np.array_equal(run_optimised(SHUFFLED, "shuffled", 1, 64, x, mode, dialect=dialect)[0], wanted)


def test_versions_are_made_only_for_branches_of_the_launch(cuda_ptx):
    """There are versions for the types and the long ways of the modes; none where branches depend on the thread."""

    def versions(source):
        return for_launches(parse(cuda_ptx(source, "compute_80")).functions["modes"]).versions

    assert len(versions(MODES)) > 2
    assert len(versions(MODES.replace("mode ==", "i ==").replace("(type & 0xFFFF)", "i"))) == 1


def test_a_version_for_a_usual_launch(quick_host, cuda_ptx):
    """A kernel that is optimised for one launch has a version for it, and equals numpy in all other launches too."""
    kernel = quick_host.load_module(cuda_ptx(MODES)).kernel("modes")
    random, n = np.random.default_rng(4), 77
    for number, (dtype, mode) in enumerate((each, mode) for each in (np.float64, np.float32) for mode in (1, 0, 2, 3)):
        x = random.standard_normal((n, 2)).astype(dtype)
        out = quick_host.upload(np.zeros(n, np.float32))
        arguments = [quick_host.upload(x), out, 7 << 16 | x.itemsize, mode, np.float32(0.5), n]
        quick_host.launch(kernel, (2,), (64,), arguments)
        if number == 0:
            assert kernel.job is not None
            kernel.job.run()
        wanted = (x[:, 0] * x[:, 1].astype(np.float64) + x[:, 0]).astype(np.float32).astype(np.float64)
        for k in range(5 * (mode == 1)):
            wanted = wanted * 0.5 + k * np.arange(n)
        if mode == 2:
            wanted = np.where(wanted < 0, np.sqrt(np.abs(wanted)) / 0.5, np.sqrt(np.abs(wanted)) * 0.5 + 1)
        assert np.allclose(out.download(), wanted, rtol=1e-5, atol=1e-5)


def test_the_last_version_has_only_the_ways_of_the_usual_launch(cuda_ptx):
    """With the arguments of a launch, the last version has no branch that they decide, and others are fewer."""
    function = parse(cuda_ptx(MODES, "compute_80")).functions["modes"]
    block = struct.pack("<QQIIfI", 256, 512, 7 << 16 | 16, 1, 0.5, 64)
    offsets = dict(zip((item.name for item in function.parameters), (0, 8, 16, 20, 24, 28), strict=True))
    found = for_launches(function, [block], offsets)
    versions, known, usual = found.versions, found.known, found.versions[-1]
    guards = {item.guard.register.name for item in usual.kernel.instructions if item.guard is not None}
    assert not guards & known.keys()
    assert len(usual.outcomes) >= 2
    assert len(versions) < len(for_launches(function).versions) + 1
    assert for_launches(function, [block], {}).versions == for_launches(function).versions


STRIDED = r"""
extern "C" __global__ void strided(const float2* x, float* out, int width, int height, int row, int column) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    float sum = 0;
    for (int dx = -2; dx <= 2; ++dx) sum += x[blockIdx.y * row + min(max(i + dx, 0), width - 1) * column].y;
    out[blockIdx.y * width + i] = sum;
}"""


@pytest.mark.parametrize("usual", [1, 2, 40])
def test_distances_of_a_usual_launch(quick_host, cuda_ptx, usual):
    """A kernel that is optimised for one distance between elements equals numpy with any other, also 0 and below."""
    kernel = quick_host.load_module(cuda_ptx(STRIDED)).kernel("strided")
    width, height = 83, 3
    x = np.random.default_rng(9).standard_normal((height, 40 * width, 2)).astype(np.float32)
    data, out = quick_host.upload(x), quick_host.upload(np.zeros((height, width), np.float32))
    for column in (usual, 2, 1, 0, 3, 40):
        quick_host.launch(kernel, (3, height), (32,), [data, out, width, height, 40 * width, column])
        if column == usual and kernel.job is not None:
            kernel.job.run()
            quick_host.launch(kernel, (3, height), (32,), [data, out, width, height, 40 * width, column])
        places = np.clip(np.arange(width)[:, None] + np.arange(-2, 3), 0, width - 1) * column
        np.testing.assert_allclose(out.download(), x[:, places, 1].sum(axis=2), rtol=1e-5, atol=1e-5)
    function = parse(cuda_ptx(STRIDED)).functions["strided"]
    offsets = dict(zip((item.name for item in function.parameters), (0, 8, 16, 20, 24, 28), strict=True))
    block = struct.pack("<QQiiii", 256, 512, width, height, 40 * width, usual)
    assert len(for_launches(function, [block], offsets).versions) == (2 if usual < 40 else 1)


def modes_launch(random):
    """Return the arguments of a launch of MODES, and what decides about versions in it."""
    size, mode, n = int(random.choice([8, 16])), int(random.choice([0, 1, 2, 3])), int(random.integers(9))
    return struct.pack("<QQIifI", 256, 512, 7 << 16 | size, mode, random.random(), n)


def strided_launch(random):
    """Return the arguments of a launch of STRIDED."""
    row, column = (int(random.choice([0, 16, 17, -1])) for _ in range(2))
    return struct.pack("<QQiiii", 256, 512, 83, 3, row, column)


@pytest.mark.parametrize(("source", "launch"), [(MODES, modes_launch), (STRIDED, strided_launch)])
def test_a_launch_takes_the_version_that_it_would_have_alone(cuda_ptx, source, launch):
    """With versions for several launches, each takes the one that is made for it alone, and so do launches alike.

    A launch that would have another version alone is not served.
    """
    function = next(iter(parse(cuda_ptx(source, "compute_80")).functions.values()))
    offsets = dict(zip((item.name for item in function.parameters), (0, 8, 16, 20, 24, 28), strict=True))
    random = np.random.default_rng(5)

    def taken(found, block):
        values = launch_values(found.known, block, offsets)
        fitting = [each for each in found.versions if all(values[name] == it for name, it in each.outcomes.items())]
        return fitting[-1].kernel, any(all(values[name] == it for name, it in each.items()) for each in found.served)

    seen = set()
    for _ in range(30):
        launches = [launch(random) for _ in range(3)]
        found = for_launches(function, launches, offsets)
        assert not found.serve_all
        for block in launches:
            assert taken(found, block) == (taken(for_launches(function, [block], offsets), block)[0], True)
        other = launch(random)
        alone, (version, is_served) = taken(for_launches(function, [other], offsets), other)[0], taken(found, other)
        assert not is_served or version == alone
        seen.add((is_served, version == alone))
    assert {(True, True), (False, False)} <= seen


def test_a_kernel_that_never_decides_serves_all_launches(cuda_ptx):
    """A kernel without branches or distances that its parameters decide has nothing to gain from a launch."""
    assert for_launches(parse(cuda_ptx(PLAIN)).functions["plain"]).serve_all


PLAIN = """extern "C" __global__ void plain(float* x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] *= a; }"""
DECIDED = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 to, .param .f32 x, .param .s32 n) {
  .reg .b64 %out; .reg .b32 %n, %a, %b, %c; .reg .f32 %x, %y; .reg .pred %p, %q, %r;
  ld.param.u64 %out, [to]; ld.param.f32 %x, [x]; ld.param.s32 %n, [n];
  mul.ftz.f32 %y, %x, 0f3F000000; setp.gt.ftz.f32 %p, %y, 0f00000000; @!%p bra FIRST;
  mov.b32 %a, 1; st.global.b32 [%out], %a;
FIRST: setp.eq.s32 %q, %n, -1; @!%q bra SECOND;
  mov.b32 %b, 1; st.global.b32 [%out + 4], %b;
SECOND: setp.eq.u32 %r, %n, 4294967295; @!%r bra THIRD;
  mov.b32 %c, 1; st.global.b32 [%out + 8], %c;
THIRD: ret; }"""


def test_a_launch_decides_as_its_threads_would(run_optimised):
    """A product that `.ftz` flushes is not above 0, and -1 equals 4294967295."""
    least = np.float32(2.0**-126)  # half of it is subnormal
    for x, n, expected in ((least, -1, [0, 1, 1]), (2 * least, 5, [1, 0, 0])):
        assert run_optimised(DECIDED, "k", 1, 1, np.zeros(3, np.int32), x, n)[0].tolist() == expected


OPERATIONS = [
    "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "min.u32", "max.s32", "max.u32",
    "shl.b32", "shr.s32", "shr.u32", "mul.wide.s32", "mul.wide.u32", "not.b32", "neg.s32", "cvt.s64.s32", "cvt.u64.u32",
    "cvt.s64.s8", "cvt.u64.u16", "setp.hi.u32", "setp.ls.u32",
    *(f"setp.{name}.{kind}" for name in ("eq", "ne", "lt", "ge") for kind in ("s32", "u32")),
    *(f"setp.{name}{unordered}.f32" for name in ("eq", "ne", "lt", "le", "gt", "ge") for unordered in ("", "u")),
]  # fmt: skip


def test_values_of_registers_in_a_launch(run_optimised):
    """Values that follow from arguments are those that the compiled kernel computes, for all operations and signs.

    As floats, the numbers are zeros of both signs, subnormal numbers, one, infinity and NaN.
    """
    numbers = [0, 1, 5, 31, 127, 255, 0x3F800000, 0x7F800000, 2**31 - 1, 2**31, 2**32 - 3, 2**32 - 1]
    lines, outputs = [], []
    for at, text in enumerate(OPERATIONS):
        wide = "wide" in text or text.startswith("cvt")
        source = "%c" if text.startswith("sh") else "%b"  # shifts by 32 or more are tried in other tests
        sources = "%a" if text[:3] in ("not", "neg", "cvt") else f"%a, {source}"
        name = f"%p{at}" if text.startswith("setp") else f"%w{at}" if wide else f"%n{at}"
        lines.append(f"{text} {name}, {sources};")
        if name[1] == "p":
            lines.append(f"selp.b32 %n{at}, %a, 7, {name};")
        lines.append(
            f"st.global.u64 [%o+{8 * at}], %w{at};"
            if wide
            else f"cvt.u64.u32 %w{at}, %n{at}; st.global.u64 [%o+{8 * at}], %w{at};"
        )
        outputs.append(f"%w{at}")
    count = len(OPERATIONS)
    text = (
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u32 a, .param .u32 b) {"
        f".reg .b64 %o, %w<{count}>; .reg .b32 %a, %b, %c, %n<{count}>; .reg .pred %p<{count}>;"
        "ld.param.u64 %o, [out]; ld.param.u32 %a, [a]; ld.param.u32 %b, [b]; and.b32 %c, %b, 31;"
        + "".join(lines)
        + "ret; }"
    )
    known = {item.operands[0].name: item for item in parse(text).functions["k"].instructions
             if item.operands and isinstance(item.operands[0], Register)}  # fmt: skip
    for a in numbers:
        for b in numbers:
            found = run_optimised(text, "k", 1, 1, np.zeros(count, np.uint64), np.uint32(a), np.uint32(b))[0]
            values = launch_values(known, struct.pack("<QII", 0, a, b), {"out": 0, "a": 8, "b": 12})
            assert [values[name] for name in outputs] == found.tolist(), (a, b)
