"""Matrix instructions against numpy: mma, wmma, ldmatrix, stmatrix, movmatrix and asynchronous copies."""

import re
from pathlib import Path

import numpy as np
import pytest

from warploom.engine.kernel_sources.cuda import library, nvrtc

HEAD = ".version 8.4\n.target sm_90\n.address_size 64\n"
RNG = np.random.default_rng(5)


def _half(shape):
    return RNG.integers(-8, 9, shape).astype(np.float16) / np.float16(4)


def _bf16(x):
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _loads(name, base, count, kind="b32"):
    size = 8 if kind == "f64" else 4
    lines = [f"ld.param.u64 %a, [{base}]; mad.wide.u32 %a, %lane, {size * count}, %a;"]
    lines += [f"ld.global.{kind} %{name}{i}, [%a+{size * i}];" for i in range(count)]
    return "\n".join(lines)


def _kernel(opcode, a, b, c, d, kind="b32"):
    """Return a kernel in which every thread loads its fragments, multiplies, and stores its part of D."""
    size = 8 if kind == "f64" else 4
    names = {
        n: "{" + ", ".join(f"%{n}{i}" for i in range(k)) + "}" for n, k in (("a", a), ("b", b), ("c", c), ("d", d))
    }
    stores = "\n".join(f"st.global.{kind} [%a+{size * i}], %d{i};" for i in range(d))
    registers = "".join(f".reg .{kind} %{n}<{k}>;" for n, k in (("a", a), ("b", b), ("c", c), ("d", d)))
    return f"""{HEAD}.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
    .reg .b64 %a; .reg .b32 %lane; {registers}
    mov.u32 %lane, %laneid;
    {_loads("a", "pa", a, kind)}
    {_loads("b", "pb", b, kind)}
    {_loads("c", "pc", c, kind)}
    {opcode} {names["d"]}, {names["a"]}, {names["b"]}, {names["c"]};
    ld.param.u64 %a, [pd]; mad.wide.u32 %a, %lane, {size * d}, %a;
    {stores}
    ret; }}"""


def _a16(matrix, registers, per):
    """Return A (16 rows) as a warp's threads hold it: (32, registers, per)."""
    out = np.empty((32, registers, per), matrix.dtype)
    for lane in range(32):
        for r in range(registers):
            for e in range(per):
                out[lane, r, e] = matrix[lane // 4 + 8 * (r % 2), lane % 4 * per + e + 4 * per * (r // 2)]
    return out


def _b(matrix, registers, per):
    out = np.empty((32, registers, per), matrix.dtype)
    for lane in range(32):
        for r in range(registers):
            for e in range(per):
                out[lane, r, e] = matrix[lane % 4 * per + e + 4 * per * r, lane // 4]
    return out


def _c16(matrix, rows=16):
    out = np.empty((32, rows // 4), matrix.dtype)
    for lane in range(32):
        for i in range(rows // 4):
            out[lane, i] = matrix[lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2]
    return out


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_mma_of_16_bit_floats(run, kind, depth):
    """m16n8k8 and m16n8k16 with f32 accumulators give numpy's matrix product."""
    a, b, c = _half((16, depth)), _half((depth, 8)), RNG.standard_normal((16, 8)).astype(np.float32)
    bits = _bf16 if kind == "bf16" else (lambda x: x.view(np.uint16))
    regs = depth // 4
    ptx = _kernel(f"mma.sync.aligned.m16n8k{depth}.row.col.f32.{kind}.{kind}.f32", regs, regs // 2, 4, 4)
    fa, fb = _a16(bits(a), regs, 2), _b(bits(b), regs // 2, 2)
    d = run(ptx, "k", 1, 32, fa, fb, _c16(c), np.zeros((32, 4), np.float32))[3]
    np.testing.assert_allclose(d, _c16(a.astype(np.float32) @ b.astype(np.float32) + c), rtol=1e-5, atol=1e-5)


def test_mma_with_f16_accumulators(run):
    """With f16 accumulators, C and D are two registers of two halves each."""
    a, b, c = _half((16, 16)), _half((16, 8)), _half((16, 8))
    ptx = _kernel("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, 2)
    fa, fb = _a16(a.view(np.uint16), 4, 2), _b(b.view(np.uint16), 2, 2)
    d = run(ptx, "k", 1, 32, fa, fb, _c16(c), np.zeros((32, 4), np.float16))[3]
    assert np.array_equal(d, _c16((a.astype(np.float64) @ b + c).astype(np.float16)))


@pytest.mark.parametrize("depth", [4, 8])
def test_mma_of_tf32_drops_low_bits(run, depth):
    """tf32 products ignore the thirteen low bits of each f32."""
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in ((16, depth), (depth, 8)))
    c = np.zeros((16, 8), np.float32)
    regs = depth // 2
    ptx = _kernel(f"mma.sync.aligned.m16n8k{depth}.row.col.f32.tf32.tf32.f32", regs, regs // 2, 4, 4)
    d = run(ptx, "k", 1, 32, _a16(a, regs, 1), _b(b, regs // 2, 1), _c16(c), np.zeros((32, 4), np.float32))[3]
    cut = [(x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b)]
    np.testing.assert_allclose(d, _c16(cut[0] @ cut[1]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kinds", [("s8", "u8"), ("u8", "s8")])
@pytest.mark.parametrize("depth", [16, 32])
def test_mma_of_bytes(run, kinds, depth):
    """Products of signed and unsigned bytes are exact."""
    types = {"s8": np.int8, "u8": np.uint8}
    a, b = (
        RNG.integers(np.iinfo(types[k]).min, np.iinfo(types[k]).max + 1, shape).astype(types[k])
        for k, shape in zip(kinds, ((16, depth), (depth, 8)), strict=True)
    )
    c = RNG.integers(-1000, 1000, (16, 8)).astype(np.int32)
    regs = depth // 8
    ptx = _kernel(f"mma.sync.aligned.m16n8k{depth}.row.col.s32.{kinds[0]}.{kinds[1]}.s32", regs, regs // 2, 4, 4)
    d = run(ptx, "k", 1, 32, _a16(a, regs, 4), _b(b, regs // 2, 4), _c16(c), np.zeros((32, 4), np.int32))[3]
    assert np.array_equal(d, _c16(a.astype(np.int32) @ b.astype(np.int32) + c))


def test_mma_of_doubles(run):
    """m8n8k4 in f64 gives numpy's product."""
    a, b, c = (RNG.standard_normal(shape) for shape in ((8, 4), (4, 8), (8, 8)))
    ptx = _kernel("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 1, 1, 2, 2, "f64")
    lanes = np.arange(32)
    fa, fb = a[lanes // 4, lanes % 4], b[lanes % 4, lanes // 4]
    d = run(ptx, "k", 1, 32, fa, fb, _c16(c, 8), np.zeros((32, 2)))[3]
    np.testing.assert_allclose(d, _c16(a @ b + c, 8), rtol=1e-14, atol=1e-14)


MATRICES = (
    HEAD
    + """.visible .entry k(.param .u64 px, .param .u64 py) {
  .reg .b64 %a; .reg .b32 %lane, %s, %o, %r<4>, %t; .shared .align 16 .b8 m[512]; .shared .align 16 .b8 n[512];
  mov.u32 %lane, %laneid; shl.b32 %o, %lane, 4; mov.u32 %s, m; add.u32 %s, %s, %o;
  ld.param.u64 %a, [px]; mad.wide.u32 %a, %lane, 16, %a;
  ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%a]; st.shared.v4.b32 [%s], {%r0, %r1, %r2, %r3};
  bar.warp.sync 0xffffffff;
  ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%r0, %r1, %r2, %r3}, [%s];
  ld.param.u64 %a, [py]; mad.wide.u32 %a, %lane, 16, %a;
  st.global.v4.b32 [%a], {%r0, %r1, %r2, %r3};
  movmatrix.sync.aligned.m8n8.trans.b16 %t, %r1;
  st.global.b32 [%a+512], %t;
  mov.u32 %s, n; add.u32 %s, %s, %o;
  stmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 [%s], {%r0, %r1, %r2, %r3};
  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%s];
  st.global.v4.b32 [%a+1024], {%r0, %r1, %r2, %r3};
  ret; }"""
)


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix_stmatrix_and_movmatrix(run, trans):
    """Four 8 by 8 matrices of halves are spread over a warp, transposed or not, and stored back."""
    x = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    y = run(MATRICES.replace("TRANS", trans), "k", 1, 32, x, np.zeros(768, np.uint16))[1]
    held = x.transpose(0, 2, 1) if trans else x
    pairs = held.reshape(4, 32, 2).transpose(1, 0, 2)
    assert np.array_equal(y[:256].reshape(32, 4, 2), pairs)
    turned = held[1].T.reshape(32, 2)
    assert np.array_equal(y[256:512].reshape(32, 8)[:, :2], turned)
    assert np.array_equal(y[512:].reshape(4, 8, 8), x)


WMMA = """#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* a, const half* b, const float* c, float* d) {
  __shared__ half sa[16 * 24];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i / 16 * 24 + i % 16] = a[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, M, N, 16, half, wmma::LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, 16, half, wmma::LB> fb;
  wmma::fragment<wmma::accumulator, M, N, 16, float> fc;
  wmma::load_matrix_sync(fa, USE, LDA);
  wmma::load_matrix_sync(fb, b, LDB);
  wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 2;
  wmma::store_matrix_sync(d, fc, M, wmma::mem_col_major);
}"""


@pytest.mark.parametrize("shape", [(16, 16), (32, 8), (8, 32)])
@pytest.mark.parametrize("layouts", ["row_major col_major", "col_major row_major"])
def test_wmma(run, shape, layouts):
    """Each shape and layout of half-precision wmma gives numpy's product, through global and shared memory."""
    m, n = shape
    la, lb = layouts.split()
    a, b, c = _half((m, 16)), _half((16, n)), RNG.standard_normal((m, n)).astype(np.float32)
    shared = shape == (16, 16) and la == "row_major"
    lda = 24 if shared else (16 if la == "row_major" else m)
    ldb = 16 if lb == "col_major" else n
    source = WMMA
    for name, value in {"LA": la, "LB": lb, "USE": "sa" if shared else "a", "M": m, "N": n}.items():
        source = re.sub(rf"\b{name}\b", str(value), source)
    source = source.replace("LDA", str(lda)).replace("LDB", str(ldb))
    given = [x if layout == "row_major" else x.T.copy() for x, layout in ((a, la), (b, lb))]
    ptx = nvrtc.compile_cuda(source, Path("k.cu"), "compute_80", library.toolkit_folders()).ptx
    ptx = ptx[ptx.index(".version") :]
    d = run(ptx, "k", 1, 32, *given, c, np.zeros((n, m), np.float32))[3]
    np.testing.assert_allclose(d.T, 2 * (a.astype(np.float32) @ b.astype(np.float32) + c), rtol=1e-5, atol=1e-5)


COPY = (
    HEAD
    + """.visible .entry k(.param .u64 px, .param .u64 py, .param .u32 n) {
  .reg .b64 %a, %b; .reg .b32 %t, %s, %n, %r<4>; .shared .align 16 .b8 m[1024]; .reg .pred %p;
  mov.u32 %t, %tid.x; shl.b32 %s, %t, 4; mov.u32 %n, m; add.u32 %s, %s, %n;
  ld.param.u64 %a, [px]; mad.wide.u32 %a, %t, 16, %a; ld.param.u32 %n, [n];
  setp.eq.u32 %p, %t, 3;
  FORM;
  cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;
  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%s];
  ld.param.u64 %b, [py]; mad.wide.u32 %b, %t, 16, %b; st.global.v4.b32 [%b], {%r0, %r1, %r2, %r3};
  ret; }"""
)


@pytest.mark.parametrize("limit", [0, 1, 5, 16])
def test_asynchronous_copies_fill_with_zeros(run, limit):
    """Asynchronous copies write zeros for the bytes past the source size, and do not read them."""
    x = RNG.integers(1, 255, (64, 16)).astype(np.uint8)
    ptx = COPY.replace("FORM", "cp.async.cg.shared.global.L2::128B [%s], [%a], 16, %n")
    y = run(ptx, "k", 1, 64, x, np.full((64, 16), 7, np.uint8), np.int32(limit))[1]
    assert np.array_equal(y, np.where(np.arange(16) < limit, x, 0))


def test_an_ignored_source_gives_zeros(run):
    """With ignore-src set, a copy writes zeros."""
    x = RNG.integers(1, 255, (64, 16)).astype(np.uint8)
    ptx = COPY.replace("FORM", "cp.async.ca.shared.global [%s], [%a], 16, %p")
    y = run(ptx, "k", 1, 64, x, np.full((64, 16), 7, np.uint8), np.int32(0))[1]
    assert np.array_equal(y, np.where(np.arange(64)[:, None] == 3, 0, x))
