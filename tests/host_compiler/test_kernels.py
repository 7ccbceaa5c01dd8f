"""Whole kernels in both PTX dialects: atomics, device functions, switches, local arrays, structs, divergence."""

import math
import sys

import numpy as np
import pytest

from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.launch import Launch
from warploom.engine.device.host.modules import native
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import DeviceError, KernelError
from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.ptx import parse


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code, which is translated as for the optimiser."""
    return quick_host


def test_histogram_with_atomics_in_shared_and_global_memory(run, dialect):
    """Counts of a histogram from many thread blocks add up, in shared and global memory."""
    source = """extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
      __shared__ unsigned s[64];
      if (threadIdx.x < 64) s[threadIdx.x] = 0;
      __syncthreads();
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[x[i] & 63], 1u);
      __syncthreads();
      if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]); }"""
    x = np.random.default_rng(0).integers(0, 256, 100_003).astype(np.uint8)
    bins = run(source, "histogram", 40, 256, x, np.zeros(64, np.uint32), len(x), dialect=dialect)[1]
    assert np.array_equal(bins, np.bincount(x & 63, minlength=64))


ATOMICS = {
    "atomicAdd(o, v)": lambda v: v.sum(dtype=np.int64),
    "atomicSub(o, v)": lambda v: -v.sum(dtype=np.int64),
    "atomicMin(o, v)": lambda v: min(0, v.min()),
    "atomicMax(o, v)": lambda v: max(0, v.max()),
    "atomicOr(o, v)": np.bitwise_or.reduce,
    "atomicXor(o, v)": np.bitwise_xor.reduce,
}


@pytest.mark.parametrize("call", ATOMICS)
def test_integer_atomics(run, dialect, call):
    """Each integer atomic over 20,000 threads gives the reduction of all values."""
    source = f"""extern "C" __global__ void k(const int* x, int* o, int n) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {{ int v = x[i]; {call}; }} }}"""
    x = np.random.default_rng(1).integers(-1000, 1000, 20_000).astype(np.int32)
    out = run(source, "k", 80, 256, x, np.zeros(1, np.int32), len(x), dialect=dialect)[1]
    assert out[0] == np.array(ATOMICS[call](x)).astype(np.int32)


def test_other_atomics(run, dialect):
    """Atomic float and double sums, exchange, compare-and-swap and wrapping increments lose no thread's update."""
    source = """extern "C" __global__ void k(float* f, double* d, unsigned* ring, int* lock, unsigned long long* big) {
      atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicInc(ring, 6); atomicAdd(big, 1ull << 33);
      int seen = *lock, old; do { old = seen; seen = atomicCAS(lock, old, old + 3); } while (seen != old); }"""
    f, d, ring, lock, big = run(
        source, "k", 50, 200, np.zeros(1, np.float32), np.zeros(1), np.zeros(1, np.uint32), np.zeros(1, np.int32),
        np.zeros(1, np.uint64), dialect=dialect,
    )  # fmt: skip
    assert (f[0], d[0], ring[0], lock[0], big[0]) == (5000, 2500, 10_000 % 7, 30_000, 10_000 << 33)


FUNCTIONS = """
__noinline__ __device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__noinline__ __device__ float4 twist(float4 v) { return make_float4(v.w, v.z, v.y * 2, v.x + 1); }
__noinline__ __device__ void swap(float& a, float& b) { float t = a; a = b; b = t; }
__device__ float square(float x) { return x * x; }
__device__ float cube(float x) { return x * x * x; }
typedef float (*Rule)(float);
__device__ Rule rules[2] = {square, cube};
extern "C" __global__ void functions(int* n, float4* v, float* x, int which) {
  int i = threadIdx.x;
  n[i] = fib(i); v[i] = twist(v[i]);
  float a = x[i], b = 10.f; swap(a, b); x[i] = rules[which](b) + a;
}"""


def test_device_functions(run, dialect):
    """Recursion, structs by value, references to local variables and calls through a table match Python's results."""
    v, x = np.arange(64, dtype=np.float32).reshape(16, 4), np.arange(16, dtype=np.float32)
    n, twisted, out = run(FUNCTIONS, "functions", 1, 16, np.zeros(16, np.int32), v, x, 1, dialect=dialect)
    assert n.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]
    assert np.array_equal(twisted, np.stack([v[:, 3], v[:, 2], v[:, 1] * 2, v[:, 0] + 1], 1))
    assert np.array_equal(out, x**3 + 10)


def test_a_call_through_a_bad_pointer_is_an_error(run):
    """A call through a pointer to no function is a fault, and nothing is called."""
    source = """typedef float (*Rule)(float); __device__ float half_(float x) { return x / 2; }
    __device__ Rule rules[1] = {half_};
    extern "C" __global__ void k(float* x, unsigned long long* raw) {
      Rule rule = raw[0] ? (Rule)raw[0] : rules[0]; x[threadIdx.x] = rule(x[threadIdx.x]); }"""
    x = np.ones(4, np.float32)
    assert run(source, "k", 1, 4, x, np.zeros(1, np.uint64))[0].tolist() == [0.5] * 4
    with pytest.raises(DeviceError, match=r"kernel k, PTX line \d+: .* called 0x1234, which is no function"):
        run(source, "k", 1, 4, x, np.full(1, 0x1234, np.uint64))


def test_switch_local_array_and_divergent_loop(run, dialect):
    """A switch, an array with computed indices and loops of different lengths agree with Python."""
    source = """extern "C" __global__ void k(const int* x, int* out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
      int a[8]; for (int k = 0; k < 8; k++) a[k] = x[i] * k;
      int sum = 0;
      for (int k = 0; k <= (x[i] & 15); k++) { if (k == 11) break; if (k & 1) continue; sum += a[(k * 3) & 7]; }
      switch (x[i] & 7) { case 0: sum += 5; break; case 1: sum ^= 3; break; case 2: sum = -sum; case 3: sum *= 2; break;
        case 4: sum >>= 1; break; case 5: sum -= 9; break; default: sum = 0; }
      out[i] = sum; }"""

    def expected(x):
        total = 0
        for k in range((x & 15) + 1):
            if k == 11:
                break
            total += 0 if k & 1 else x * (k * 3 & 7)
        rules = {0: total + 5, 1: total ^ 3, 2: -total * 2, 3: total * 2, 4: total >> 1, 5: total - 9}
        return rules.get(x & 7, 0)

    x = np.random.default_rng(2).integers(-500, 500, 777).astype(np.int32)
    out = run(source, "k", 7, 128, x, np.zeros_like(x), len(x), dialect=dialect)[1]
    assert out.tolist() == [expected(int(value)) for value in x]


def test_struct_argument_and_constant_memory(run, dialect):
    """A struct by value with a computed index, initialised constants and vector accesses match numpy's results."""
    source = """struct S { float a[5]; int b; char c; }; __constant__ int table[4] = {1, 10, 100, 1000};
    extern "C" __global__ void k(S s, float* out, const short4* in, short4* copy) {
      int i = threadIdx.x; out[i] = s.a[i % 5] + s.b * table[i & 3] + s.c;
      short4 v = in[i]; copy[i] = make_short4(v.w, v.z, v.y, v.x); }"""
    layout = np.dtype([("a", "f4", 5), ("b", "i4"), ("c", "i1"), ("pad", "V3")])
    s = np.array((np.arange(5) / 2, 3, -4, b"\0\0\0"), layout)
    shorts = np.arange(80, dtype=np.int16).reshape(20, 4)
    out, _, copied = run(source, "k", 1, 20, s[()], np.zeros(20, np.float32), shorts, shorts, dialect=dialect)
    i = np.arange(20)
    assert np.array_equal(out, (i % 5) / 2 + 3 * 10.0 ** (i & 3) - 4)
    assert np.array_equal(copied, shorts[:, ::-1])


def test_64_bit_arithmetic_and_double_functions(run, dialect):
    """Products of 64 by 64 bits, long division and double-precision library functions match Python and numpy."""
    source = """extern "C" __global__ void k(const long long* x, long long* o, unsigned long long* h, double* d) {
      int i = threadIdx.x; long long v = x[i]; o[i] = v / 7 + v % 1000; h[i] = __umul64hi(v, 0x9E3779B97F4A7C15ull);
      d[i] = sin(d[i]) + exp(d[i]) + pow(fabs(d[i]), 0.3) + log(fabs(d[i]) + 1); }"""
    x = np.array([0, 1, -1, 2**62, -(2**63), 123456789123456789], np.int64)
    d = np.linspace(-3, 30, 6)
    _, o, h, out = run(source, "k", 1, 6, x, x, x.view(np.uint64), d, dialect=dialect)
    assert o.tolist() == [int(math.trunc(v / 7) if abs(v) < 2**50 else abs(v) // 7 * (1 if v > 0 else -1))
                          + int(math.copysign(abs(v) % 1000, v)) for v in x.tolist()]  # fmt: skip
    assert h.tolist() == [(v % 2**64) * 0x9E3779B97F4A7C15 >> 64 for v in x.tolist()]
    np.testing.assert_allclose(out, np.sin(d) + np.exp(d) + np.abs(d) ** 0.3 + np.log(np.abs(d) + 1), rtol=1e-14)


@pytest.mark.parametrize("options", [(), ("--use_fast_math",)])
def test_single_precision_library_functions(host, cuda_ptx, options):
    """CUDA's sinf, expf, powf, logf and tanhf agree with numpy, also in fast mode."""
    source = """extern "C" __global__ void k(const float* x, float* o, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float v = x[i];
      o[i] = sinf(v); o[n + i] = expf(v); o[2 * n + i] = powf(fabsf(v), 2.2f); o[3 * n + i] = logf(fabsf(v));
      o[4 * n + i] = tanhf(v); o[5 * n + i] = v / 3.f; }"""
    x = np.linspace(-9.5, 9.7, 1001).astype(np.float32)
    buffers = [host.upload(x), host.upload(np.zeros((6, len(x)), np.float32))]
    kernel = host.load_module(cuda_ptx(source, "compute_75", *options)).kernel("k")
    host.launch(kernel, (8,), (128,), [*buffers, len(x)])
    wide = x.astype(np.float64)
    expected = [np.sin(wide), np.exp(wide), np.abs(wide) ** 2.2, np.log(np.abs(wide)), np.tanh(wide), wide / 3]
    tolerance = 1e-5 if options else 1e-6
    # Near zero the fast sine and logarithm have an absolute error bound, and the fast tanh has 2^-11.
    for found, exact, loose in zip(buffers[1].download(), expected, (0, 0, 0, 0, 5e-4, 0), strict=True):
        np.testing.assert_allclose(found, exact, rtol=tolerance + (loose if options else 0), atol=2e-6)


def test_large_sine_arguments_take_the_slow_path(run, dialect):
    """sinf of large numbers reduces the argument with all its bits."""
    source = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = sinf(x[threadIdx.x]); }'
    x = np.array([1e5, 2.5e6, 1e10, -3e20, 1e38], np.float32)
    found = run(source, "k", 1, 5, x, dialect=dialect)[0]
    np.testing.assert_allclose(found, [math.sin(float(v)) for v in x], rtol=1e-6)


def test_grids_and_thread_blocks_of_three_axes(run, dialect):
    """Every thread of a three-dimensional launch runs once and has its own indices."""
    source = """extern "C" __global__ void k(int* o) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      int z = blockIdx.z * blockDim.z + threadIdx.z;
      o[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] += x + 100 * y + 10000 * z + 1; }"""
    o = run(source, "k", (3, 2, 5), (5, 3, 2), np.zeros((10, 6, 15), np.int32), dialect=dialect)[0]
    z, y, x = np.indices(o.shape)
    assert np.array_equal(o, x + 100 * y + 10000 * z + 1)


WILD = """extern "C" __global__ void wild(float* x, const int* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[at[i]] = i; }"""
WILD_LOOP = """extern "C" __global__ void wild(float* x, const int* at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) for (int k = 0; k < at[n]; k++) x[at[i]] += i; }"""


@pytest.mark.parametrize("source", [WILD, WILD_LOOP])
@pytest.mark.parametrize("index", [100, -1, 1 << 30, -(1 << 30)])
def test_a_bad_address_is_an_error_that_names_the_thread(host, run, source, index):
    """A wild store's error names kernel, line, thread, thread block and address, and the device keeps working."""
    at = np.append(np.arange(100), 2).astype(np.int32)
    at[77] = index
    message = r"kernel wild, PTX line \d+: thread \(13, 0, 0\) of thread block \(2, 0, 0\) used the address 0x"
    with pytest.raises(DeviceError, match=message):
        run(source, "wild", 4, 32, np.zeros(100, np.float32), at, 100)
    at[77] = 77
    assert run(source, "wild", 4, 32, np.zeros(100, np.float32), at, 100)[0][77] in (77, 154)


def test_an_address_below_zero_is_reported_whole(host, cuda_ptx):
    """A fault reports all 64 bits of the address, and the thread, for any address."""
    kernel = host.load_module(cuda_ptx(WILD.replace("const int* at", "const long long* at"))).kernel("wild")
    x, at = host.upload(np.zeros(100, np.float32)), np.arange(100)
    at[77] = (-(1 << 32) - x.pointer) // 4
    message = r"thread \(13, 0, 0\) of thread block \(2, 0, 0\) used the address 0xffffffff0+ "
    with pytest.raises(DeviceError, match=message):
        host.launch(kernel, (4,), (32,), [x, host.upload(at), np.int32(100)])


def test_use_of_freed_memory_is_an_error(host, cuda_ptx):
    """A kernel that uses the kept address of a freed buffer faults."""
    kernel = host.load_module(cuda_ptx('extern "C" __global__ void k(float* x) { *x = 1; }')).kernel("k")
    buffer = host.upload(np.zeros(4, np.float32))
    address = np.uint64(buffer.pointer)
    host.launch(kernel, (1,), (1,), [address])
    buffer.free()
    with pytest.raises(DeviceError, match="which is in no live buffer"):
        host.launch(kernel, (1,), (1,), [address])
    with pytest.raises(DeviceError, match="after it was freed"):
        buffer.download()


def test_a_trap_is_an_error(run):
    """The error of a trap instruction names the thread that ran it."""
    source = 'extern "C" __global__ void k(int* x) { if (x[threadIdx.x] == 5) __trap(); }'
    with pytest.raises(DeviceError, match=r"thread \(5, 0, 0\).* ran a trap"):
        run(source, "k", 1, 8, np.arange(8, dtype=np.int32))


def test_an_unknown_opcode_is_refused_when_the_module_loads(host):
    """An unknown opcode is refused at loading with an error that names the opcode and its line."""
    ptx = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k() {
  .reg .b32 %r<3>;
  frobnicate.u32 %r0, %r1, %r2, %r1;
  ret;
}"""
    with pytest.raises(KernelError, match=r"PTX line 6: frobnicate\.u32 is not an instruction") as caught:
        host.load_module(ptx)
    assert caught.value.line == 6


def test_thread_blocks_are_numbered_in_the_largest_grids(cuda_ptx, host):
    """In a grid of more than 2^32 thread blocks, the last ones have CUDA's indices."""
    source = """extern "C" __global__ void k(unsigned* out) {
      if (threadIdx.x == 0) { out[0] = blockIdx.x; out[1] = blockIdx.y; out[2] = blockIdx.z; } }"""
    module = host.load_module(cuda_ptx(source, "compute_75"))
    out, grid = host.upload(np.zeros(3, np.uint32)), (1 << 20, 65535, 65535)
    kernel = module.kernel("k")
    launch = Launch(kernel, LaunchConfig(grid, (1, 1, 1)), pack_arguments(kernel.parameters, [out]))
    for last in (0, 1 << 31, (1 << 32) + 5, launch.blocks - 1):

        def run_last(worker, blocks, chunk, last=last):
            launch.record[abi.NEXT] = last
            return launch._work(worker, last + 1, 1)

        pairs = host.table.snapshot()
        launch.record[abi.STOP] = host.watchdog.address
        launch.record[abi.ALLOCATIONS], launch.record[abi.ALLOCATION_COUNT] = pairs.ctypes.data, len(pairs)
        assert host.pool.run(run_last, 1, workers=1)[0] is None
        x, rest = last % grid[0], last // grid[0]
        assert out.download().tolist() == [x, rest % grid[1], rest // grid[1]]


def calls_to_translate(cases):
    """Return how many Python function calls it takes to translate a loop around a switch with `cases` cases."""
    labels = ", ".join(f"C{case}" for case in range(cases))
    branches = "\n".join(f"C{case}: mad.lo.u32 %r3, %r3, {case + 3}, %r1; bra.uni NEXT;" for case in range(cases))
    text = f""".version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n) {{
.reg .b32 %r<9>; .reg .pred %p; .reg .b64 %a<4>;
ld.param.u64 %a0, [out]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 1;
LOOP: rem.u32 %r4, %r3, {cases};
T: .branchtargets {labels};
brx.idx %r4, T;
{branches}
NEXT: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r0; @%p bra LOOP;
mul.wide.u32 %a1, %r1, 4; add.s64 %a2, %a0, %a1; st.global.u32 [%a2], %r3; ret; }}"""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        translate_module(parse(text), native.triple(), *native.cpu())
    finally:
        sys.setprofile(None)
    return count


def test_the_time_to_translate_grows_with_the_size():
    """Translating twice as many cases of a switch in a loop takes less than 2.5 times as many function calls."""
    calls_to_translate(4)
    assert calls_to_translate(160) < 2.5 * calls_to_translate(80)
