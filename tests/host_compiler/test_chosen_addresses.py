"""Accesses through one of two pointers, which the translator makes two guarded accesses."""

import numpy as np
import pytest

from warploom.engine.diagnostics import KernelFault
from warploom.engine.host_compiler.analysis.provenance import provenance
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.passes.chosen_addresses import with_separate_accesses
from warploom.engine.ptx import parse

# A load, a load at a distance, and a store, each through a chosen pointer.
CHOICES = """
extern "C" __global__ void choices(const int* mask, const float4* a, const float4* b, int* c, int* d,
                                   float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool is_a = mask[i] > 0;
  const float4* from = is_a ? a : b;
  float4 value = from[i], last = from[n - 1 - i];
  (is_a ? c : d)[i] = i;
  out[i] = value.x * 2.0f + value.w - last.y;
}"""
# The predicate has another value when the pointer that it chose is used.
LATE = """.version 7.8\n.target sm_80\n.address_size 64
.visible .entry late(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b64 %a, %b, %o, %s; .reg .b32 %t, %v; .reg .pred %p;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %o, [out];
  cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b; cvta.to.global.u64 %o, %o;
  mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
  setp.lt.u32 %p, %t, 5;
  selp.b64 %s, %a, %b, %p;
  setp.gt.u32 %p, %t, 2;
  ld.global.u32 %v, [%s]; @%p add.u32 %v, %v, 100; st.global.u32 [%o], %v; ret; }"""


def separated(text, name):
    """Return the accesses of a kernel after the pass."""
    function = parse(text).functions[name]
    layout = MemoryLayout({}, {}, {})
    layout.parameters = {item.name: 8 * index for index, item in enumerate(function.parameters)}
    items = with_separate_accesses(function, provenance(function, layout)).instructions
    return [item for item in items if item.opcode in ("ld", "st") and "param" not in item.modifiers]


@pytest.mark.parametrize("n", [1, 31, 33, 1000])
def test_each_thread_uses_the_pointer_that_it_chose(run_optimised, dialect, n):
    """Loads and stores through chosen pointers equal numpy's choice, and nothing else is written."""
    random = np.random.default_rng(n)
    mask = random.integers(-2, 3, n).astype(np.int32)
    a, b = (random.random((n, 4), np.float32) for _ in range(2))
    c, d = (np.full(n, -1, np.int32) for _ in range(2))
    found = run_optimised(
        CHOICES, "choices", -(-n // 64), 64, mask, a, b, c, d, np.zeros(n, np.float32), n, dialect=dialect
    )
    is_a = mask > 0
    value, last = (np.where(is_a[:, None], x, y) for x, y in ((a, b), (a[::-1], b[::-1])))
    assert np.array_equal(found[3], np.where(is_a, np.arange(n), -1))
    assert np.array_equal(found[4], np.where(is_a, -1, np.arange(n)))
    assert np.allclose(found[5], value[:, 0] * 2 + value[:, 3] - last[:, 1], atol=1e-6)


def test_a_chosen_buffer_that_is_too_short_is_a_fault(run_optimised):
    """A thread that reads beyond the end of the buffer that it chose stops the launch."""
    mask = np.ones(64, np.int32)
    arrays = [np.zeros((size, 4), np.float32) for size in (63, 64)]
    others = [np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.float32)]
    with pytest.raises(KernelFault):
        run_optimised(CHOICES, "choices", 1, 64, mask, *arrays, *others, 64)


def test_a_choice_ends_where_its_predicate_changes(run_optimised):
    """An access after the predicate has changed still uses the chosen pointer."""
    a, b = np.array([1], np.int32), np.array([2], np.int32)
    found = run_optimised(LATE, "late", 1, 8, a, b, np.zeros(8, np.int32))[2]
    t = np.arange(8)
    assert np.array_equal(found, np.where(t < 5, 1, 2) + np.where(t > 2, 100, 0))


def test_accesses_are_guarded_by_what_chose_the_pointer(cuda_ptx):
    """Each access through a chosen pointer becomes two, unless the predicate has changed or both are one buffer."""
    guards = [item.guard is not None for item in separated(cuda_ptx(CHOICES, "compute_80"), "choices")]
    assert guards.count(True) == 6
    assert len(separated(LATE, "late")) == 2
    same = cuda_ptx(
        CHOICES.replace("is_a ? a : b", "is_a ? a : a + 1").replace("is_a ? c : d", "is_a ? c : c + 1"), "compute_80"
    )
    assert not any(item.guard for item in separated(same, "choices"))
