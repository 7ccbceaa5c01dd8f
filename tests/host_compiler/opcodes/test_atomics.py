"""Atomics of every type from several threads, against a reference for each operation."""

import numpy as np
import pytest

from warploom.engine.diagnostics import KernelFault

HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def _kernel(lines):
    """Return a kernel over %x, the thread's element; %g is a global cell, and %s a shared cell that is copied back."""
    return f"""{HEAD}.visible .entry k(.param .u64 px, .param .u64 pg, .param .u64 ps) {{
    .reg .b64 %a, %g, %x, %c; .reg .b32 %t, %s, %y, %z; .reg .b16 %h; .reg .pred %p; .shared .align 16 .b8 cell[16];
    .reg .f32 %f; .reg .f64 %d; .reg .b128 %o, %n;
    mov.u32 %t, %tid.x; ld.param.u64 %a, [px]; mad.wide.u32 %a, %t, 8, %a; ld.global.b64 %x, [%a];
    cvt.u32.u64 %y, %x; cvt.u16.u32 %h, %y; mov.b32 %f, %y; mov.b64 %d, %x;
    ld.param.u64 %g, [pg]; mov.u32 %s, cell;
    setp.eq.u32 %p, %t, 0;
    @!%p bra ready;
    ld.param.u64 %a, [ps]; ld.global.b64 %c, [%a]; st.shared.b64 [%s], %c;
    ld.global.b64 %c, [%a+8]; st.shared.b64 [%s+8], %c;
    ready: bar.sync 0;
    {lines}
    bar.sync 0;
    @!%p bra over;
    ld.param.u64 %a, [ps]; ld.shared.b64 %c, [%s]; st.global.b64 [%a], %c;
    ld.shared.b64 %c, [%s+8]; st.global.b64 [%a+8], %c;
    over: ret; }}"""


def _run(run, operation, register, x, start):
    """Apply an operation with every element to a global and a shared cell, and return both cells."""
    ptx = _kernel(f"red.global.{operation} [%g], {register}; red.shared.{operation} [%s], {register};")
    cell = np.zeros(16, np.uint8)
    raw = np.atleast_1d(start).view(np.uint8)
    cell[: raw.size] = raw
    wide = np.zeros((len(x), 8 // x.dtype.itemsize), x.dtype)
    wide[:, 0] = x
    _, in_global, in_shared = run(ptx, "k", 1, len(x), wide, cell, cell)
    return [item[: raw.size].view(start.dtype)[0] for item in (in_global, in_shared)]


@pytest.mark.parametrize(
    ("operation", "dtype", "function"),
    [
        ("add.u32", np.uint32, np.add.reduce),
        ("add.u64", np.uint64, np.add.reduce),
        ("min.s32", np.int32, np.min),
        ("max.s64", np.int64, np.max),
        ("min.u64", np.uint64, np.min),
        ("and.b32", np.uint32, np.bitwise_and.reduce),
        ("or.b64", np.uint64, np.bitwise_or.reduce),
        ("xor.b64", np.uint64, np.bitwise_xor.reduce),
    ],
)
def test_integers(run, operation, dtype, function):
    """Every integer operation combines all threads' values into the cell."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, 77, dtype)
    start = x[-1]
    expected = np.asarray(function(np.append(x[:-1], start))).astype(dtype)
    register = "%x" if info.bits == 64 else "%y"
    assert _run(run, operation, register, x[:-1], start) == [expected, expected]


def test_wrapping_counters(run):
    """inc wraps to zero above its bound, and dec wraps to its bound below zero."""
    x = np.full(50, 6, np.uint32)
    assert _run(run, "inc.u32", "%y", x, np.uint32(0)) == [50 % 7, 50 % 7]
    assert _run(run, "dec.u32", "%y", x, np.uint32(100)) == [(6 - 49) % 7] * 2


@pytest.mark.parametrize(
    ("operation", "dtype", "register"),
    [("add.f32", np.float32, "%f"), ("add.f64", np.float64, "%d"), ("add.noftz.f16", np.float16, "%h")],
)
def test_floats(run, operation, dtype, register):
    """Sums of floats are exact here, whatever their order."""
    x = (np.random.default_rng(2).integers(-64, 64, 90) / 8).astype(dtype)
    expected = x.sum() + dtype(1)
    assert _run(run, operation, register, x, dtype(1)) == [expected, expected]


def test_pairs_of_halves_and_vectors(run):
    """f16x2 adds two halves, and .v2 and .v4 add to neighbouring cells."""
    pairs = (np.arange(60).reshape(30, 2) / 4).astype(np.float16)
    got = _run(run, "add.noftz.f16x2", "%y", pairs.view(np.uint32)[:, 0], np.uint32(0))
    expected = pairs.sum(0).astype(np.float16).view(np.uint32)[0]
    assert got == [expected, expected]
    ptx = _kernel("red.global.add.v4.f32 [%g], {%f, %f, 0f3F800000, %f};")
    x = np.zeros((40, 2), np.float32)
    x[:, 0] = np.arange(40)
    cell = run(ptx, "k", 1, 40, x, np.zeros(4, np.float32), np.zeros(16, np.uint8))[1]
    assert np.array_equal(cell, [780, 780, 40, 780])


def test_128_bits(run):
    """exch and cas read and write all 128 bits of a cell."""
    ptx = _kernel(
        "mov.b128 %n, {%x, %x}; mov.b128 %o, {0, 0};"
        "atom.global.cas.b128 %o, [%g], %o, %n; atom.shared.exch.b128 _, [%s], %n;"
    )
    out = run(ptx, "k", 1, 1, np.array([77], np.uint64), np.zeros(2, np.uint64), np.zeros(2, np.uint64))
    assert np.array_equal(out[1], [77, 77])
    assert np.array_equal(out[2], [77, 77])


def test_subnormal_sums_flush_in_global_memory_only(run):
    """atom.add.f32 flushes subnormal sums in global memory only, as the manual specifies."""
    tiny = np.array([1e-40], np.float32)
    in_global, in_shared = _run(run, "add.f32", "%f", tiny, np.float32(0))
    assert in_global == 0
    assert in_shared == tiny[0]


#: Threads work for a while on each number, change one of `places` cells in both memories, and do so in `turns` rounds.
SPREAD = """
extern "C" __global__ void spread(
    const unsigned* x, TYPE* cells, TYPE* out, unsigned places, unsigned turns, unsigned n) {
    __shared__ TYPE own[64];
    for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) own[i] = TYPE(0x5A5A5A5A5A5A5A5All);
    __syncthreads();
    for (unsigned turn = 0; turn < turns; ++turn) {
        const unsigned i = (turn * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < n) {
            unsigned y = x[i];
            y ^= y << 13; y ^= y >> 17; y ^= y << 5; y ^= y << 13; y ^= y >> 17; y ^= y << 5; y ^= y >> 7; y += y << 3;
            const TYPE value = TYPE(y) * TYPE(0x9E3779B97F4A7C15ull);
            if (y & 4) atomicOP(&own[(y >> 8) % places & 63], value);
            if (y & 8) atomicOP(&cells[(y >> 16) % places], value);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) out[blockIdx.x * 64 + i] = own[i];
}"""


@pytest.mark.parametrize("threads", [1, 7, 64, 205])
@pytest.mark.parametrize(
    ("kind", "dtype", "operation"),
    [
        ("unsigned", np.uint32, "Add"),
        ("unsigned long long", np.uint64, "Add"),
        ("int", np.int32, "Min"),
        ("unsigned", np.uint32, "Max"),
        ("long long", np.int64, "Max"),
        ("unsigned long long", np.uint64, "Min"),
        ("int", np.int32, "Xor"),
    ],
)
def test_some_threads_change_one_or_several_places(run_optimised, kind, dtype, operation, threads):
    """Cells of both memories hold what numpy's `ufunc.at` computes, when threads change one place, a few or many."""
    source = f"typedef {kind} number;" + SPREAD.replace("TYPE", "number").replace("OP", operation)
    function = {"Add": np.add, "Min": np.minimum, "Max": np.maximum, "Xor": np.bitwise_xor}[operation]
    random = np.random.default_rng(threads)
    for places, turns in ((1, 1), (3, 2), (61, 3)):
        x = random.integers(0, 1 << 32, threads * 2 * turns - threads // 2, np.uint32)
        y = x.copy()
        for left, right in ((13, 17), (5, None), (13, 17), (5, 7)):
            y ^= y << np.uint32(left)
            if right is not None:
                y ^= y >> np.uint32(right)
        y += y << np.uint32(3)
        values = (y.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(dtype)
        start = np.uint64(0x5A5A5A5A5A5A5A5A).astype(dtype)
        own, cells = np.full((2, 64), start), np.full(places, start)
        block = np.arange(len(x)) // threads % 2
        some, others = y & 4 > 0, y & 8 > 0
        function.at(own, (block[some], (y[some] >> 8) % places & 63), values[some])
        function.at(cells, (y[others] >> 16) % places, values[others])
        given = (
            x,
            np.full(places, start),
            np.zeros((2, 64), dtype),
            np.uint32(places),
            np.uint32(turns),
            np.uint32(len(x)),
        )
        found = run_optimised(source, "spread", 2, threads, *given)
        np.testing.assert_array_equal(found[1], cells)
        np.testing.assert_array_equal(found[2], own)


def test_a_place_outside_is_reported_for_its_thread(run_optimised):
    """Of threads that change numbers at once, the first one whose place lies outside is named."""
    source = (
        SPREAD.replace("TYPE", "unsigned").replace("OP", "Add").replace("(y >> 16) % places", "i > 70 ? places : i")
    )
    x, cells = np.arange(100, dtype=np.uint32), np.zeros(100, np.uint32)
    with pytest.raises(KernelFault) as caught:
        run_optimised(
            source.replace("if (y & 8)", ""),
            "spread",
            1,
            128,
            x,
            cells,
            cells,
            np.uint32(100),
            np.uint32(1),
            np.uint32(100),
        )
    assert "thread (71, 0, 0)" in str(caught.value), caught.value
