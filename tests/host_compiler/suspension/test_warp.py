"""Less common warp and barrier operations: legacy forms, named barriers, elections, spin locks, mbarriers."""

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.diagnostics import KernelError, KernelFault


@pytest.fixture
def host(either_host):
    """The device of `run`: both ways to translate waiting threads."""
    return either_host


HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def _each(lines, registers=""):
    """Return a kernel whose threads read %x from `px`, and store %r and %q to `pr` and `pq`."""
    return f"""{HEAD}.visible .entry k(.param .u64 px, .param .u64 pr, .param .u64 pq) {{
    .reg .b64 %a, %w; .reg .b32 %t, %x, %r, %q; .reg .f32 %f; .reg .pred %p; {registers}
    mov.u32 %t, %tid.x; ld.param.u64 %a, [px]; mad.wide.u32 %a, %t, 4, %a; ld.global.b32 %x, [%a];
    mov.u32 %r, 0; mov.u32 %q, 0;
    {lines}
    ld.param.u64 %a, [pr]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a], %r;
    ld.param.u64 %a, [pq]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a], %q;
    ret; }}"""


def _run(run, lines, x, registers=""):
    zeros = np.zeros(len(x), np.uint32)
    return run(_each(lines, registers), "k", 1, len(x), x, zeros, zeros)[1:]


def test_legacy_shuffles_and_votes(run):
    """Shuffles and votes without .sync act on the active threads."""
    x = np.arange(45, dtype=np.uint32) * 3
    r, q = _run(run, "shfl.bfly.b32 %r|%p, %x, 1, 31; setp.gt.u32 %p, %x, 30; vote.ballot.b32 %q, %p;", x)
    t = np.arange(45)
    assert np.array_equal(r[:44], x[t[:44] ^ 1])
    votes = [sum(1 << (i - w) for i in range(w, min(w + 32, 45)) if x[i] > 30) for w in (0, 32)]
    assert np.array_equal(q, np.where(t < 32, votes[0], votes[1]).astype(np.uint32))


def test_match_of_64_bits(run):
    """match compares all 64 bits of a value."""
    x = np.array([1, 2, 1, 3] * 8, np.uint32)
    lines = "mov.b64 %w, {0, %x}; match.any.sync.b64 %r, %w, 0xffffffff; match.all.sync.b64 %q|%p, %w, 0xffffffff;"
    r, q = _run(run, lines, x)
    assert np.array_equal(r, [sum(1 << i for i in range(32) if x[i] == value) for value in x])
    assert not q.any()


@pytest.mark.parametrize("mode", ["min", "max", "min.abs", "max.NaN"])
def test_reductions_of_floats(run, mode):
    """In a float reduction, numbers win over NaN; with .NaN, NaN wins."""
    x = np.random.default_rng(2).standard_normal(32).astype(np.float32)
    x[7] = np.nan
    r, _ = _run(run, f"mov.b32 %f, %x; redux.sync.{mode}.f32 %f, %f, 0xffffffff; mov.b32 %r, %f;", x.view(np.uint32))
    values = np.abs(x) if "abs" in mode else x
    expected = np.float32(np.nan) if "NaN" in mode else (np.nanmin if "min" in mode else np.nanmax)(values)
    assert np.array_equal(r.view(np.float32), np.full(32, expected), equal_nan=True)


def test_one_thread_is_elected(run):
    """elect.sync elects the lowest thread of the mask."""
    lines = "setp.ge.u32 %p, %t, 5; @!%p bra over; elect.sync %r|%p, 0xffffffe0; selp.b32 %q, 1, 0, %p; over:"
    r, q = _run(run, lines, np.zeros(32, np.uint32))
    t = np.arange(32)
    assert np.array_equal(r, np.where(t >= 5, 5, 0))
    assert np.array_equal(q, t == 5)


WITH_MASKS = {
    "shfl": "shfl.sync.idx.b32 %r|%p, %x, 1, 31, {};",
    "vote": "setp.ne.u32 %p, %x, 0; vote.sync.ballot.b32 %r, %p, {};",
    "match": "match.any.sync.b32 %r, %x, {};",
    "redux": "redux.sync.add.s32 %r, %x, {};",
    "elect": "elect.sync %r|%p, {};",
    "bar": "bar.warp.sync {};",
}


@pytest.mark.parametrize("operation", WITH_MASKS)
def test_a_mask_without_its_own_thread_is_a_fault(run, operation):
    """A mask without its own thread, which PTX leaves undefined, is a fault with the line, the thread and the mask.

    A constant mask of 0 is refused when the module loads.
    """
    at, line = WITH_MASKS[operation], HEAD.count("\n") + 5
    text = rf"kernel k, PTX line {line}: thread \(5, 0, 0\) of thread block \(0, 0, 0\) named the members 0xffffffdf "
    for lines in (at.format("0xffffffdf"), "mov.b32 %q, 0xffffffdf; " + at.format("%q")):
        with pytest.raises(KernelFault, match=text + "of its warp without itself"):
            _run(run, lines, np.ones(32, np.uint32))
    with pytest.raises(KernelFault, match=r"thread .* named the members 0x00000000 of its warp without itself"):
        _run(run, at.format("%x"), np.zeros(32, np.uint32))
    with pytest.raises(KernelError, match=f"PTX line {line}: .*member mask must name the thread that uses it, got 0"):
        _run(run, at.format("0"), np.ones(32, np.uint32))


@pytest.mark.parametrize("seed", seeds(20))
def test_random_masks_are_faults_or_give_the_votes_of_their_members(run, seed):
    """A vote counts the threads of each thread's mask, and a mask without its own thread is a fault.

    Threads may have different masks, if all threads of a mask have the same one.
    """
    draw = np.random.default_rng(seed)
    groups, x = draw.integers(0, 3, 32), draw.integers(0, 2, 32).astype(np.uint32)
    masks = np.array([sum(1 << i for i in range(32) if groups[i] == group) for group in groups], np.uint32)
    votes = np.array([sum(1 << i for i in range(32) if m >> i & 1 and x[i]) for m in masks.tolist()], np.uint32)
    lines = "setp.ne.u32 %p, %x, 0; ld.param.u64 %a, [pr]; mad.wide.u32 %a, %t, 4, %a; ld.global.b32 %q, [%a];"
    lines += "vote.sync.ballot.b32 %r, %p, %q;"
    r, _ = run(_each(lines), "k", 1, 32, x, masks, masks)[1:]
    assert np.array_equal(r, votes)
    bad = masks.copy()
    lane = int(draw.integers(32))
    bad[lane] &= ~np.uint32(1 << lane)
    with pytest.raises(
        KernelFault, match=rf"thread \({lane}, 0, 0\) .* named the members {bad[lane]:#010x} of its warp"
    ):
        run(_each(lines), "k", 1, 32, x, bad, bad)


PIPE = (
    HEAD
    + """.visible .entry k(.param .u64 px, .param .u64 pr) {
  .reg .b64 %a; .reg .b32 %t, %x, %i, %s, %sum; .reg .pred %p, %loop; .shared .b32 box[32];
  mov.u32 %t, %tid.x; mov.u32 %i, 0; mov.u32 %sum, 0; and.b32 %s, %t, 31; shl.b32 %s, %s, 2;
  mov.u32 %x, box; add.u32 %s, %s, %x; setp.lt.u32 %p, %t, 32; @%p bra producer;
consumer:
  barrier.cta.arrive 1, 64;
  bar.sync 2, 64;
  ld.shared.b32 %x, [%s]; add.u32 %sum, %sum, %x;
  add.u32 %i, %i, 1; setp.lt.u32 %loop, %i, 10; @%loop bra consumer;
  ld.param.u64 %a, [pr]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a+-128], %sum;
  ret;
producer:
  bar.sync 1, 64;
  mad.lo.u32 %x, %i, 100, %t; st.shared.b32 [%s], %x;
  bar.arrive 2, 64;
  add.u32 %i, %i, 1; setp.lt.u32 %loop, %i, 10; @%loop bra producer;
  ret; }"""
)


def test_producers_arrive_and_consumers_wait(run):
    """Producers and consumers pass a box back and forth ten times through two named barriers."""
    out = run(PIPE, "k", 1, 64, np.zeros(1, np.uint32), np.zeros(32, np.uint32))[1]
    assert np.array_equal(out, 10 * np.arange(32) + 100 * 45)


LOCK = """extern "C" __global__ void k(int* lock, int* sum, int rounds) {
  for (int i = 0; i < rounds; i++) {
    bool done = false;
    while (!done) {
      if (atomicCAS(lock, 0, 1) == 0) { *(volatile int*)sum += 1; __threadfence(); atomicExch(lock, 0); done = true; }
    }
  }
}
extern "C" __global__ void flag(volatile int* f, int* out) {
  if (threadIdx.x == 0) { while (f[0] == 0) { } out[0] = f[0]; }
  if (threadIdx.x == 5) { for (int i = 0; i < 7; i++) out[1] += i; __threadfence(); f[0] = 9; }
}
extern "C" __global__ void held(int* lock, int* out) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  while (*(volatile int*)&turn != threadIdx.x) { }
  out[threadIdx.x] = atomicAdd(lock, 1);
  __threadfence_block();
  *(volatile int*)&turn = threadIdx.x + 1;
}"""


def test_spinning_threads_let_others_run(run, dialect):
    """Spin locks between all threads of a grid, a flag, and turns within a thread block don't hang."""
    zero = np.zeros(1, np.int32)
    assert run(LOCK, "k", 40, 64, zero, zero, np.int32(3), dialect=dialect)[1][0] == 40 * 64 * 3
    out = run(LOCK, "flag", 1, 32, zero, np.zeros(2, np.int32), dialect=dialect)[1]
    assert list(out) == [9, 21]
    out = run(LOCK, "held", 1, 70, zero, np.zeros(70, np.int32), dialect=dialect)[1]
    assert np.array_equal(out, np.arange(70))


def test_barrier_objects(run):
    """An mbarrier counts arrivals and bytes, and changes its phase when both are complete."""
    lines = """.shared .b64 bar; .reg .b64 %s; .reg .pred %first;
    setp.eq.u32 %first, %t, 0; @%first mbarrier.init.shared::cta.b64 [bar], 64; bar.sync 0;
    mbarrier.arrive.shared.b64 %s, [bar];
    again: mbarrier.try_wait.shared.b64 %p, [bar], %s; @!%p bra again;
    @%first mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    @!%first mbarrier.arrive.shared.b64 _, [bar];
    bar.sync 0;
    mbarrier.test_wait.parity.shared.b64 %p, [bar], 1; selp.b32 %r, 1, 0, %p;
    bar.sync 0;
    @%first mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;
    bar.sync 0;
    mbarrier.test_wait.parity.shared.b64 %p, [bar], 1; selp.b32 %q, 1, 0, %p;"""
    r, q = _run(run, lines, np.zeros(64, np.uint32))
    assert not r.any()
    assert q.all()


def test_special_registers(run):
    """A cluster has one thread block, and %globaltimer never decreases."""
    lines = """.reg .b64 %u, %v; mov.u64 %u, %globaltimer; mov.u64 %v, %globaltimer; setp.ge.u64 %p, %v, %u;
    selp.b32 %r, 1, 0, %p; mov.u32 %q, %cluster_nctarank; mov.u32 %x, %cluster_ctaid.x; add.u32 %q, %q, %x;
    mov.u32 %x, %envreg3; add.u32 %q, %q, %x; mov.u32 %x, %nsmid; add.u32 %q, %q, %x;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""
    r, q = _run(run, lines, np.zeros(8, np.uint32))
    assert r.all()
    assert (q == 2).all()
