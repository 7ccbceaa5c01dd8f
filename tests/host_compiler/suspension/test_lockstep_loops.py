"""Loops in lockstep, threads that diverge and reconverge, and uniform values."""

from itertools import permutations

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.host_compiler.control_programs import Program
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelFault
from warploom.engine.host_compiler.analysis.uniformity import uniformity
from warploom.engine.host_compiler.passes.lockstep_loops import with_lockstep_loops
from warploom.engine.ptx import parse


@pytest.fixture
def host(optimised_host: HostDevice) -> HostDevice:
    """Run optimised code."""
    return optimised_host


def check(host, cuda_ptx, group, count):
    """Compare some programs of a group with the reference."""
    programs = [Program(seed) for seed in range(10 * group, 10 * group + count)]
    module = host.load_module(
        cuda_ptx("".join(item.source for item in programs), ("compute_75", "compute_100")[group % 2])
    )
    for item in programs:
        for blocks, threads, p, q in ((2, 96, 5, 2), (1, 61, 130, 7), (3, 128, 0, 0)):
            x = np.arange(blocks * threads, dtype=np.int32) * 7 - 50
            given = [host.upload(x), host.upload(np.zeros_like(x))]
            host.launch(module.kernel(item.name), (blocks,), (threads,), [*given, p, q])
            expected = item.run(x, blocks, p, q)
            assert np.array_equal(given[1].download(), expected), f"{item.source} with {blocks=} {threads=} {p=} {q=}"


@pytest.mark.parametrize("group", seeds(3))
def test_random_control_flow_is_what_a_reference_says(either_host, cuda_ptx, group):
    """Nested loops, branches, barriers and shuffles have the results of threads in lockstep, even for odd sizes."""
    check(either_host, cuda_ptx, group, 10)


@pytest.mark.parametrize("group", [0, 1])
def test_optimised_code_of_random_control_flow_does_the_same(optimised_host, cuda_ptx, group):
    """Random control flow has the reference's results even after the optimiser rewrites lockstep loops."""
    check(optimised_host, cuda_ptx, group, 3)


STRIDED = """
extern "C" __global__ void sums(const float* x, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * x[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}"""


@pytest.mark.parametrize("threads", [1, 7, 32, 100, 256])
@pytest.mark.parametrize("n", [0, 1, 255, 5000])
def test_grid_stride_loops_of_any_size(run, threads, n):
    """Each thread adds up its own elements, also if only some threads run the last round."""
    x = np.random.default_rng(n).random(max(n, 1), np.float32)
    out = run(STRIDED, "sums", 3, threads, x, np.zeros(3 * threads, np.float32), n)[1]
    padded = np.zeros(-(-max(n, 1) // (3 * threads)) * 3 * threads, np.float32)
    padded[:n] = x[:n] ** 2
    np.testing.assert_allclose(out, padded.reshape(-1, 3 * threads).sum(0), rtol=1e-5)


PRODUCT = """
extern "C" __global__ void product(const float* a, const float* b, float* c, int n, int m, int l) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= l || y >= n) return;
  float sum = 0;
  for (int k = 0; k < m; k++) sum += a[y * m + k] * b[k * l + x];
  c[y * l + x] = sum;
}"""


@pytest.mark.parametrize("block", [(16, 16), (5, 3), (64, 1)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 17, 40), (16, 0, 16)])
def test_a_plain_matrix_product(run, dialect, block, shape):
    """A matrix product with the same rounds in all threads equals numpy's, even if thread blocks exceed the edge."""
    n, m, length = shape
    rng = np.random.default_rng(1)
    a, b = rng.random((n, max(m, 1)), np.float32), rng.random((max(m, 1), length), np.float32)
    grid = (-(-length // block[0]), -(-n // block[1]))
    c = run(PRODUCT, "product", grid, block, a, b, np.ones((n, length), np.float32), n, m, length, dialect=dialect)[2]
    np.testing.assert_allclose(c, a[:, :m] @ b[:m], rtol=1e-5)


BOX = """
extern "C" __global__ void box(const float* x, float* y, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= w || j >= h) return;
  float sum = 0.0f;
  for (int b = -4; b <= 4; ++b)
    for (int a = -4; a <= 4; ++a) sum += x[min(max(j + b, 0), h - 1) * w + min(max(i + a, 0), w - 1)];
  y[j * w + i] = sum;
}"""


@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (40, 17)])
def test_a_loop_that_threads_enter_in_the_middle_of_its_text(run, dialect, shape):
    """A box of 9 rows, which NVRTC unrolls by two and enters at the second one, is the sum of its shifted images."""
    x = np.random.default_rng(0).random(shape, np.float32)
    height, width = shape
    found = run(
        BOX, "box", (-(-width // 16), -(-height // 16)), (16, 16), x, np.zeros_like(x), width, height, dialect=dialect
    )
    edged = np.pad(x.astype(np.float64), 4, mode="edge")
    wanted = sum(edged[b : b + height, a : a + width] for b in range(9) for a in range(9))
    np.testing.assert_allclose(found[1], wanted, rtol=1e-5)


BLOCKS = {
    "OUTER": "setp.ge.s32 %p, %j, %n; @%p bra END; bra FIRST;",
    "FIRST": "mov.u32 %k, 0; bra INNER;",
    "INNER": "add.u32 %sum, %sum, %t; add.u32 %k, %k, 1; setp.le.s32 %p, %k, %j; @%p bra INNER; bra AFTER;",
    "AFTER": "add.u32 %j, %j, 1; bra OUTER;",
    "END": "st.global.u32 [%o], %sum; ret;",
}


def test_the_order_of_blocks_in_the_text_does_not_matter(run_optimised):
    """Nested loops have the same points wherever their blocks are written, and the same results."""
    rest = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n) {
  .reg .b64 %o, %at; .reg .b32 %t, %n, %j, %k, %sum; .reg .pred %p;
  ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 4; add.s64 %o, %o, %at;
  mov.u32 %j, 0; mov.u32 %sum, 0; bra OUTER;
"""
    texts = [rest + "".join(f"{name}: {BLOCKS[name]}\n" for name in names) + "}" for names in permutations(BLOCKS)]
    for text in texts:
        marked = with_lockstep_loops(parse(text).functions["k"], lambda _: True)
        assert sum(item.opcode == "wl" for item in marked.instructions) == 4, text
    for text in texts[::40]:
        found = run_optimised(text, "k", 1, 70, np.zeros(70, np.uint32), 5)[0]
        np.testing.assert_array_equal(found, 15 * np.arange(70))


def test_a_fault_in_a_loop_names_the_thread_that_met_it(run):
    """If threads run in lockstep, a fault names the first thread that leaves its buffer."""
    source = """
extern "C" __global__ void walk(const int* x, int* out, int n) {
  int sum = 0;
  for (int k = 0; k < n; k++) sum += x[k * 64 + threadIdx.x];
  out[threadIdx.x] = sum;
}"""
    with pytest.raises(KernelFault, match=r"thread \(10, 0, 0\)"):
        run(source, "walk", 1, 64, np.zeros(3 * 64 + 10, np.int32), np.zeros(64, np.int32), 5)


KINDS = """.version 8.0
.target sm_75
.address_size 64
.visible .entry kinds(.param .u64 out, .param .u32 n) {
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  ld.param.u32 %r1, [n];
  ld.param.u64 %rd1, [out];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.s32 %r4, %r3, 64, %r2;
  mov.u32 %r5, 0;
  mov.u32 %r6, %r4;
  mov.u32 %r7, 0;
  setp.gt.s32 %p1, %r2, 3;
LOOP:
  bar.sync 0;
  add.s32 %r5, %r5, 1;
  add.s32 %r6, %r6, %r1;
  @%p1 bra SKIP;
  add.s32 %r7, %r7, 1;
SKIP:
  bar.sync 0;
  setp.lt.s32 %p2, %r5, %r1;
  @%p2 bra LOOP;
  ret;
}"""


def test_uniform_and_drifting_registers():
    """Loop counters are uniform, an index drifts from its start, and registers that only some threads change vary."""
    kernel = parse(KINDS).functions["kinds"]
    kinds = uniformity(kernel)
    assert all(kinds[name].base == "" for name in ("%r1", "%r3", "%r5", "%p2"))
    assert kinds["%r6"].base == "%r4"
    assert "%r7" not in kinds and "%p1" not in kinds


COMMON = """
extern "C" __global__ void common(const int* x, int* out, int p, int n) {
  int t = threadIdx.x, d = p, v = x[t];
  for (int k = 0; k < n; k++) { d = d * 5 + k; __syncthreads(); }
  if (t & 1) v += __shfl_xor_sync(0xaaaaaaaa, v, 2);
  out[t] = v + d;
}"""


def test_uniform_values_are_right_after_threads_diverge(run, dialect):
    """After only some threads waited, a value that all threads share is the same in each of them."""
    x = np.arange(64, dtype=np.int32)
    d = 3
    for k in range(4):
        d = d * 5 + k
    out = run(COMMON, "common", 1, 64, x, np.zeros_like(x), 3, 4, dialect=dialect)[1]
    assert np.array_equal(out, np.where(x & 1, x + (x ^ 2), x) + d)


LATE = """
extern "C" __global__ void late(const int* x, int* out, int n) {
  int t = threadIdx.x, sum = 0, i;
  for (i = t; i < n; i += blockDim.x) sum += x[i];
  __syncthreads();
  out[t] = sum * 1000 + i;
}"""


def test_threads_that_left_a_loop_at_different_times_keep_their_own_index(run, dialect):
    """After a barrier, each thread's loop index has the value with which that thread left the loop."""
    x = np.ones(100, np.int32)
    out = run(LATE, "late", 1, 64, x, np.zeros(64, np.int32), 100, dialect=dialect)[1]
    rounds = np.where(np.arange(64) < 36, 2, 1)
    assert np.array_equal(out, rounds * 1000 + np.arange(64) + 64 * rounds)


ROWS = """
extern "C" __global__ void rows(const float* __restrict__ table, const int* __restrict__ numbers,
    float* __restrict__ out, int count, int size, int width) {
  const int tiles = (width + blockDim.x - 1) / blockDim.x, column = blockIdx.x % tiles * blockDim.x + threadIdx.x;
  if (column >= width) return;
  const int* own = numbers + blockIdx.x / tiles * count;
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    const int row = own[i];
    const float value = table[(row < size ? row : 0) * (long long)width + column];
    sum += row < size ? value : 0;
  }
  out[blockIdx.x / tiles * width + column] = sum;
}"""


@pytest.mark.parametrize("width", [1, 31, 64, 75])
def test_rows_by_numbers_in_memory_are_added_up(run, dialect, width):
    """Threads that read the same row numbers add up these rows; numbers past the end add nothing."""
    random = np.random.default_rng(width)
    table, numbers = random.integers(-9, 9, (7, width)).astype(np.float32), random.integers(0, 9, (5, 6), np.int32)
    tiles = -(-width // 32)
    out = run(
        ROWS, "rows", 5 * tiles, 32, table, numbers, np.zeros((5, width), np.float32), 6, 7, width, dialect=dialect
    )
    assert np.array_equal(out[2], np.concatenate((table, np.zeros((2, width), np.float32)))[numbers].sum(1))


def test_a_row_before_the_table_is_a_fault_of_the_first_thread(host, cuda_ptx):
    """A negative row number is the fault of the first thread that reads there, and numbers past their end are one."""
    kernel = host.load_module(cuda_ptx(ROWS, "compute_75")).kernel("rows")
    table, out = host.upload(np.ones((4, 40), np.float32)), host.upload(np.zeros((2, 40), np.float32))
    numbers = host.upload(np.array([[0, 1], [2, -1]], np.int32))
    with pytest.raises(KernelFault) as caught:
        host.launch(kernel, (2,), (40,), [table, numbers, out, 2, 4, 40])
    assert caught.value.thread == (0, 0, 0) and caught.value.thread_block == (1, 0, 0)
    with pytest.raises(KernelFault):
        host.launch(kernel, (2,), (40,), [table, numbers, out, 3, 4, 40])
    host.launch(kernel, (1,), (40,), [table, numbers, out, 2, 4, 40])
    assert np.array_equal(out.download()[0], np.full(40, 2, np.float32))
